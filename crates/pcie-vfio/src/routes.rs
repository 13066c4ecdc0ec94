//! Routes and established connections of this network namespace.

use crate::survey::Look;
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A route of either protocol; IPv4 as IPv6 does, `::ffff:0:0/96`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) interface: String,
    network: Ipv6Addr,
    prefix: u32,
}

/// Bits before an IPv4 address that is written as an IPv6 one.
const MAPPED: u32 = 96;

impl Route {
    /// Whether it is a default route, or half of one, as VPNs set it.
    pub(crate) fn is_default(&self) -> bool {
        self.prefix.checked_sub(self.base()).is_some_and(|bits| bits <= 1)
    }

    /// Its destination: `10.0.0.0/8`.
    pub(crate) fn destination(&self) -> String {
        format!("{}/{}", self.network.to_canonical(), self.prefix.saturating_sub(self.base()))
    }

    fn base(&self) -> u32 {
        if self.network.to_ipv4_mapped().is_some() { MAPPED } else { 0 }
    }

    fn leads_to(&self, address: Ipv6Addr) -> bool {
        let unused = 128 - self.prefix.min(128);
        let bits = |address: Ipv6Addr| address.to_bits().checked_shr(unused).unwrap_or_default();
        bits(self.network) == bits(address)
    }
}

/// An established TCP connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    remote: Ipv6Addr,
    local_port: u16,
}

impl Connection {
    /// `the SSH session from 10.0.0.7`, or another connection.
    pub(crate) fn name(&self) -> String {
        let kind = if self.is_ssh() { "the SSH session from" } else { "a TCP connection with" };
        format!("{kind} {}", self.remote.to_canonical())
    }

    pub(crate) fn is_ssh(&self) -> bool {
        self.local_port == 22
    }

    /// The interface that it goes through: that of the longest route.
    pub(crate) fn interface<'a>(&self, routes: &'a [Route]) -> Option<&'a str> {
        let leading = routes.iter().filter(|route| route.leads_to(self.remote));
        leading.max_by_key(|route| route.prefix).map(|route| route.interface.as_str())
    }
}

impl Tree {
    /// All routes, except those of the loopback interface.
    pub(crate) fn routes(&self, look: &mut Look) -> Vec<Route> {
        let four = look.needed(&self.path("proc/net/route"));
        // Missing where IPv6 is switched off.
        let six = look.text(&self.path("proc/net/ipv6_route")).unwrap_or_default();
        let routes = four.lines().filter_map(route_v4).chain(six.lines().filter_map(route_v6));
        routes.filter(|route| route.interface != "lo").collect()
    }

    /// Established TCP connections with other machines, SSH sessions first.
    pub(crate) fn connections(&self, look: &mut Look) -> Vec<Connection> {
        let tables = ["tcp", "tcp6"].map(|table| look.text(&self.path(&format!("proc/net/{table}"))));
        let mut found: Vec<Connection> =
            tables.iter().flatten().flat_map(|table| table.lines()).filter_map(connection).collect();
        found.sort_by_key(|connection| !connection.is_ssh());
        found
    }

    /// Numbers of the interfaces that programs listen at with packet sockets.
    pub(crate) fn packet_sockets(&self, look: &mut Look) -> BTreeSet<u32> {
        let table = look.text(&self.path("proc/net/packet")).unwrap_or_default();
        table.lines().filter_map(|line| line.split_whitespace().nth(4)?.parse().ok()).collect()
    }
}

/// A line of `/proc/net/route`; its numbers are in the processor's byte order.
fn route_v4(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |column: usize| u32::from_str_radix(words.get(column)?, 16).ok().map(u32::from_be);
    let (network, mask) = (number(1)?, number(7)?);
    let network = Ipv4Addr::from_bits(network).to_ipv6_mapped();
    Some(Route { interface: (*words.first()?).to_owned(), network, prefix: MAPPED + mask.leading_ones() })
}

/// A line of `/proc/net/ipv6_route`.
fn route_v6(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let network = Ipv6Addr::from_bits(u128::from_str_radix(words.first()?, 16).ok()?);
    let prefix = u32::from_str_radix(words.get(1)?, 16).ok()?;
    Some(Route { interface: (*words.last()?).to_owned(), network, prefix })
}

/// A line of `/proc/net/tcp` or `tcp6`, if it is established and leaves the machine.
fn connection(line: &str) -> Option<Connection> {
    const ESTABLISHED: &str = "01";
    let words: Vec<&str> = line.split_whitespace().collect();
    let (_, local_port) = words.get(1)?.split_once(':')?;
    let (remote, _) = words.get(2)?.split_once(':')?;
    if *words.get(3)? != ESTABLISHED {
        return None;
    }
    let remote = address(remote)?;
    let is_local = remote.to_canonical().is_loopback();
    let local_port = u16::from_str_radix(local_port, 16).ok()?;
    (!is_local).then_some(Connection { remote, local_port })
}

/// An address in words of 32 bits, each in the processor's byte order.
fn address(text: &str) -> Option<Ipv6Addr> {
    let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::from_be);
    match text.len() {
        8 => Some(Ipv4Addr::from_bits(word(0)?).to_ipv6_mapped()),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            Some(Ipv6Addr::from_bits(words.iter().fold(0, |bits, word| bits << 32 | u128::from(*word))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn the_longest_route_carries_a_connection() {
        let lines = [
            "eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0",
            "eth1\t0000A8C0\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0",
        ];
        let routes: Vec<Route> = lines.iter().filter_map(|line| route_v4(line)).collect();
        assert_eq!(routes[1].destination(), "192.168.0.0/16");
        assert!(routes[0].is_default() && !routes[1].is_default());
        let through = |line: &str| {
            let connection = connection(line).unwrap();
            (connection.name(), connection.interface(&routes).unwrap().to_owned())
        };
        let ssh = "0: 0501A8C0:0016 0701A8C0:D431 01 00000000:00000000";
        assert_eq!(through(ssh), ("the SSH session from 192.168.1.7".into(), "eth1".into()));
        // As sshd sees it, which listens for both protocols.
        let mapped = "0: 0000000000000000FFFF00000501A8C0:0016 0000000000000000FFFF00000701A808:D431 01 0:0";
        assert_eq!(through(mapped), ("the SSH session from 8.168.1.7".into(), "eth0".into()));
        assert!(connection("0: 0100007F:0016 0100007F:D431 01 0:0").is_none(), "within the machine");
        assert!(connection("0: 0501A8C0:0016 00000000:0000 0A 0:0").is_none(), "listening");
    }

    #[test]
    fn ipv6_routes_have_their_prefix() {
        let zeros = "0".repeat(32);
        let default = route_v6(&format!("{zeros} 00 {zeros} 00 {zeros} 1 1 0 3 eth7")).unwrap();
        assert!(default.is_default() && default.interface == "eth7");
        let own = route_v6(&format!("fd00{} 08 {zeros} 00 {zeros} 1 1 0 1 eth7", "0".repeat(28))).unwrap();
        assert_eq!(own.destination(), "fd00::/8");
        assert!(own.leads_to("fd12::1".parse().unwrap()) && !own.leads_to("fe80::1".parse().unwrap()));
    }
}
