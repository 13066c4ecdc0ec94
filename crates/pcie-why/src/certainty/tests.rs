//! How sure an answer says that it is, and in which words, at the edges of each kind.

use super::*;

const LINK: &str = "the link";

fn certainty_of(bounds: &[Named], value: Option<f64>, origin: &str, beside: &str) -> Certainty {
    certainties(bounds, value, origin, &[beside.to_owned()]).remove(0)
}

fn bounds(next: f64) -> Vec<Named> {
    vec![(LINK.to_owned(), 100.0), ("tags".to_owned(), next)]
}

#[test]
fn the_distance_of_the_next_bound_is_said() {
    let known = [
        (102.0, "the next bound, tags, is only 2 % higher"),
        (104.9, "the next bound, tags, is only 5 % higher"),
        (110.0, "the next bound, tags, is 10 % higher"),
        (499.0, "the next bound, tags, is 399 % higher"),
        (500.0, "the next bound, tags, is 5 times as high"),
        (1600.0, "the next bound, tags, is 16 times as high"),
    ];
    for (next, words) in known {
        assert!(certainty_of(&bounds(next), Some(96.0), "measured", "").reason.ends_with(words), "{next}");
        assert!(simulated_certainty(&bounds(next), 100.0).reason.ends_with(words), "{next}");
    }
    let only = certainty_of(&bounds(200.0)[..1], Some(96.0), "measured", "");
    assert!(only.reason.ends_with("no other bound applies"));
}

#[test]
fn certainty_follows_the_share_of_the_bound() {
    use Level::{FairlySure, NotSure, Sure};
    let known = [
        (None, 200.0, "measured", FairlySure, "no value was given"),
        (Some(95.0), 200.0, "measured", Sure, "the measured value is 95 % of what the link allows"),
        (Some(95.0), 104.0, "measured", FairlySure, "only 4 % higher"),
        (Some(101.0), 200.0, "measured", Sure, "101 %"),
        (Some(102.0), 200.0, "measured", NotSure, "differ from the real ones"),
        (Some(102.0), 200.0, "simulated", FairlySure, "too short to be steady"),
        (Some(94.0), 200.0, "measured", FairlySure, "no bound explains the rest"),
        (Some(80.0), 200.0, "measured", FairlySure, "no bound explains the rest"),
        (Some(79.0), 200.0, "measured", NotSure, "no bound explains the rest"),
    ];
    for (value, next, origin, level, words) in known {
        let sure = certainty_of(&bounds(next), value, origin, "");
        assert!(sure.level == level && sure.reason.contains(words), "{value:?}: {}", sure.sentence());
    }
}

#[test]
fn what_may_take_the_rest_is_named() {
    let causes = ["cold caches", "a remote socket", "IO-TLB misses"].map(str::to_owned);
    let beside = possible(&causes, 2);
    assert_eq!(beside, "the rest may be cold caches or a remote socket");
    let sure = certainty_of(&bounds(200.0), Some(50.0), "measured", &beside);
    assert!(sure.reason.ends_with(&format!("; {beside}")));
    assert_eq!(possible(&[], 2), "");
    assert_eq!(possible(&[NO_KNOWN_CAUSE.to_owned()], 2), "");
}

#[test]
fn a_simulation_is_sure_of_a_bound_that_stands_apart() {
    let of = |next| vec![("tags".to_owned(), 90.0), (LINK.to_owned(), next)];
    assert_eq!(simulated_certainty(&of(105.0), 100.0).level, Level::FairlySure);
    assert_eq!(simulated_certainty(&of(106.0), 100.0).level, Level::Sure);
}

#[test]
fn what_nobody_measured_makes_an_answer_less_sure() {
    use Level::{FairlySure, NotSure, Sure};
    let known = [
        (96.0, 300.0, 0, false, Sure),
        (96.0, 300.0, 1, false, FairlySure),
        (96.0, 300.0, 1, true, FairlySure),
        (96.0, 199.0, 2, true, NotSure),
        (96.0, 199.0, 2, false, FairlySure),
        (79.0, 300.0, 1, false, NotSure),
    ];
    for (value, next, behind, is_resource, level) in known {
        let measured = certainty_of(&bounds(next), Some(value), "simulated", "");
        let sure = with_unmeasured(measured.clone(), &bounds(next), behind, is_resource);
        assert_eq!(sure.level, level, "{value} {next} {behind}");
        let start = ["the ", "on an unmeasured value, ", "on 2 unmeasured values, "][behind];
        assert!(sure.reason.starts_with(start) && sure.reason.ends_with(&measured.reason), "{}", sure.reason);
    }
}

#[test]
fn what_a_picture_shows_apart() {
    assert_eq!((is_above(101.0, 100.0), is_above(101.1, 100.0)), (false, true));
    let apart = [100.9, 101.1, 98.9].map(|value| differs(value, 100.0));
    assert_eq!(apart, [false, true, true]);
    let bounds = [("a".to_owned(), 10.0), ("b".to_owned(), 40.0), ("c".to_owned(), 40.1)];
    assert_eq!(near(&bounds).count(), 2);
}
