//! The relations between functions, and the JSON of a tree.

use super::*;

fn bridge(slot: &str, kind: Kind, below: u8, last: u8) -> Function {
    let (kind, secondary_bus, subordinate_bus) = (Some(kind), Some(below), Some(last));
    Function { slot: slot.into(), kind, secondary_bus, subordinate_bus, ..Function::default() }
}

fn endpoint(slot: &str) -> Function {
    Function { slot: slot.into(), kind: Some(Kind::Endpoint), ..Function::default() }
}

fn slots<'a>(functions: impl IntoIterator<Item = &'a Function>) -> Vec<&'a str> {
    functions.into_iter().map(|one| one.slot.as_str()).collect()
}

fn switch() -> Tree {
    let mut virtual_function = endpoint("0000:05:00.0");
    virtual_function.is_virtual_function = true;
    Tree::new(
        "test",
        vec![
            bridge("0000:00:01.0", Kind::RootPort, 1, 5),
            bridge("0000:01:00.0", Kind::UpstreamPort, 2, 5),
            bridge("0000:02:00.0", Kind::DownstreamPort, 3, 3),
            bridge("0000:02:01.0", Kind::DownstreamPort, 4, 5),
            endpoint("0000:03:00.0"),
            endpoint("0000:03:00.1"),
            endpoint("0000:04:00.0"),
            virtual_function,
        ],
    )
}

#[test]
fn bridges_follow_from_bus_numbers() {
    let tree = switch();
    let nic = tree.function("0000:03:00.1").unwrap();
    assert_eq!(slots(tree.path(nic)), ["0000:03:00.1", "0000:02:00.0", "0000:01:00.0", "0000:00:01.0"]);
    let upstream = tree.function("0000:01:00.0").unwrap();
    assert_eq!(slots(tree.children(upstream)), ["0000:02:00.0", "0000:02:01.0"]);
    assert!(tree.parent(&tree.functions()[0]).is_none());
}

#[test]
fn a_virtual_function_is_below_the_bridge_around_its_bus_but_not_on_that_bus() {
    let tree = switch();
    let (port, function) = (tree.function("0000:02:01.0").unwrap(), tree.function("0000:05:00.0").unwrap());
    assert_eq!(tree.parent(function), Some(port));
    assert_eq!(slots(tree.children(port)), ["0000:04:00.0"]);
}

#[test]
fn links_have_all_functions_of_their_lower_end() {
    let tree = switch();
    let links: Vec<_> =
        tree.links().map(|link| (link.port.map(|port| &*port.slot), slots(link.functions))).collect();
    assert_eq!(
        links,
        [
            (Some("0000:00:01.0"), vec!["0000:01:00.0"]),
            (Some("0000:02:00.0"), vec!["0000:03:00.0", "0000:03:00.1"]),
            (Some("0000:02:01.0"), vec!["0000:04:00.0"]),
        ]
    );
    let link = tree.link_of(&tree.functions()[5]).unwrap();
    assert_eq!(link.device.slot, "0000:03:00.0");
    assert!(tree.link_of(&tree.functions()[0]).is_none());
}

#[test]
fn nested_functions_have_the_function_around_them_above() {
    let mut inner = endpoint("0000:01:00.0");
    inner.above_slot = Some("0000:07:00.0".into());
    let mut outer = endpoint("0000:07:00.0");
    outer.above_slot = Some("0000:01:00.0".into());
    let tree = Tree::new("test", vec![outer, inner]).nested();
    assert_eq!(slots(tree.path(&tree.functions()[1])), ["0000:01:00.0", "0000:07:00.0"]);
    assert_eq!(slots(tree.children(&tree.functions()[0])), ["0000:01:00.0"]);
}

#[test]
fn a_selection_has_no_port_and_nothing_on_bus_0() {
    assert!(Tree::new("test", vec![endpoint("0000:03:00.0")]).is_selection());
    assert!(!switch().is_selection());
    assert!(!Tree::new("test", vec![endpoint("0000:00:03.0")]).is_selection());
    let host = Host { hypervisor: Some("KVM".into()), ..Host::default() };
    assert!(!Tree::new("test", vec![endpoint("0000:03:00.0")]).with_host(host).is_selection());
}

#[test]
fn the_raw_rate_is_after_line_coding() {
    let end = LinkEnd { speed_gtps: Some(8.0), lanes: Some(16), ..LinkEnd::default() };
    assert!((end.raw_gbps() - 8.0 * 16.0 * 128.0 / 130.0).abs() < 1e-9);
    assert!(end.is_up());
    let down = LinkEnd { lanes: Some(0), ..end };
    assert!(!down.is_up() && down.raw_gbps() == 0.0);
}

#[test]
fn slots_are_short_where_they_can_be() {
    assert_eq!(function::short_slot("0000:41:00.0"), "41:00.0");
    assert_eq!(function::short_slot("0001:41:00.0"), "0001:41:00.0");
    assert_eq!(function::short_slot("fffffffe:00:02.1"), "unnamed 35");
}

#[test]
fn the_json_of_a_tree_is_read_back() {
    let tree = switch();
    let text = serde_json::to_string(&tree).unwrap();
    assert!(
        text.starts_with(
            r#"{"source":"test","functions":[{"slot":"0000:00:01.0","title":"","vendor_id":null"#
        )
    );
    assert!(text.contains(r#""kind":"root-port""#) && !text.contains("index"), "{text}");
    assert_eq!(serde_json::from_str::<Tree>(&text).unwrap(), tree);
    assert!(serde_json::from_str::<Tree>(r#"{"source": "a", "functions": [], "more": 1}"#).is_err());
}
