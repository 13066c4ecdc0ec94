//! Addresses of PCI functions: `0000:3b:00.0`.

use pcie_refusal::{Kind, Refusal};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Domain, bus, device and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl Address {
    /// Distance to another address, for suggestions: a difference in an earlier part weighs more.
    pub(crate) fn distance(self, other: Self) -> u64 {
        let apart = |left: u32, right: u32| u64::from(left.abs_diff(right));
        apart(self.domain, other.domain) << 24
            | apart(self.bus.into(), other.bus.into()) << 16
            | apart(self.device.into(), other.device.into()) << 8
            | apart(self.function.into(), other.function.into())
    }
}

impl FromStr for Address {
    type Err = Refusal;

    /// Parses an address with or without its domain.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let hex = |part: &str, digits: usize| {
            let plain = part.bytes().all(|byte| byte.is_ascii_hexdigit());
            (plain && (1..=digits).contains(&part.len()))
                .then(|| u32::from_str_radix(part, 16).ok())
                .flatten()
        };
        let parsed = || {
            let (rest, function) = text.rsplit_once('.')?;
            let (rest, device) = rest.rsplit_once(':')?;
            let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
            Some(Self {
                domain: hex(domain, 8)?,
                bus: u8::try_from(hex(bus, 2)?).ok()?,
                device: u8::try_from(hex(device, 2)?).ok().filter(|device| *device < 32)?,
                function: u8::try_from(hex(function, 1)?).ok().filter(|function| *function < 8)?,
            })
        };
        parsed().ok_or_else(|| {
            let remedy = "give one like 0000:3b:00.0 (`pcielab devices list` shows them)";
            Refusal::new("is not a PCI address").kind(Kind::Malformed).about(text).remedy(remedy)
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(formatter, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

impl TryFrom<String> for Address {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_addresses_with_and_without_domain() {
        let read = |text: &str| text.parse::<Address>().map(|address| address.to_string());
        assert_eq!(read("0000:3b:00.0"), Ok("0000:3b:00.0".into()));
        assert_eq!(read("3B:1f.7"), Ok("0000:3b:1f.7".into()));
        assert_eq!(read("10000:e1:00.0"), Ok("10000:e1:00.0".into()));
        for wrong in
            ["", "3b", "3b:00", "0000:3b:20.0", "0000:3b:00.8", "0000:3b:00.0/..", "3b:00.0 ", "+b:00.0"]
        {
            assert!(read(wrong).is_err_and(|error| error.to_string().contains("0000:3b:00.0")), "{wrong}");
        }
    }
}
