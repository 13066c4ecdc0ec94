//! Tunnels that carry PCI Express, as people write them: `tb3`, `Thunderbolt 4`, `USB4`, `USB4 80G`.
//!
//! A tunnel moves TLPs inside packets of another line. Its line bounds their rate, and so does the PCI Express
//! port of the controller that fills it, where every controller of that kind has the same. The port that an
//! operating system shows at the end of a tunnel reports 2.5 GT/s whatever the tunnel carries.
//!
//! Sources: data sheets of Intel's controllers for lines and ports (Light Ridge to Barlow Ridge); Thunderbolt 4
//! asks for 32 Gb/s of PCI Express, which is Gen3 x4; hosts of USB4 have no port between, or a faster one.

use std::fmt;

use pcie_refusal::shown::quoted;
use pcie_refusal::{Kind, Refusal};
use pcie_wire::{Generation, Lanes, Links, PayloadSize};

/// A tunnel that carries PCI Express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tunnel {
    word: &'static str,
    name: &'static str,
    line_gbps: u32,
    port: Option<Generation>,
}

const fn tunnel(word: &'static str, name: &'static str, line_gbps: u32, port: Option<Generation>) -> Tunnel {
    Tunnel { word, name, line_gbps, port }
}

const TUNNELS: [Tunnel; 8] = [
    tunnel("tb1", "Thunderbolt 1", 10, Some(Generation::Gen2)),
    tunnel("tb2", "Thunderbolt 2", 20, Some(Generation::Gen2)),
    tunnel("tb3", "Thunderbolt 3", 40, Some(Generation::Gen3)),
    tunnel("tb4", "Thunderbolt 4", 40, Some(Generation::Gen3)),
    tunnel("tb5", "Thunderbolt 5", 80, Some(Generation::Gen4)),
    tunnel("usb4", "USB4 at 40 Gb/s", 40, None),
    tunnel("usb4-20", "USB4 at 20 Gb/s", 20, None),
    tunnel("usb4-80", "USB4 at 80 Gb/s", 80, Some(Generation::Gen4)),
];
/// Lanes of every controller's port.
const PORT_LANES: Lanes = Lanes::ALL[2];

impl Tunnel {
    /// Most bytes of payload in a TLP: a tunnel carries no more, whatever the device's MPS.
    pub const PAYLOAD: PayloadSize = PayloadSize::ALL[0];

    /// Reads a tunnel; None if the text does not begin like one.
    ///
    /// # Errors
    /// There is no tunnel of that version or rate.
    pub fn read(text: &str) -> Result<Option<Self>, Refusal> {
        let lower = text.to_ascii_lowercase();
        let plain: String = lower.chars().filter(|one| !" -_/.".contains(*one)).collect();
        let plain = plain.replace("thunderbolt", "tb");
        if !plain.starts_with("tb") && !plain.starts_with("usb") {
            return Ok(None);
        }
        let word = match plain.trim_end_matches(['g', 'b', 'p', 's']) {
            "usb440" | "usb4v1" => "usb4",
            "usb420" => "usb4-20",
            "usb480" | "usb4v2" => "usb4-80",
            other => other,
        };
        let found = TUNNELS.into_iter().find(|one| one.word == word);
        found.map(Some).ok_or_else(|| {
            Refusal::new(format!("{}: no tunnel of PCIe", quoted(text)))
                .kind(Kind::Malformed)
                .remedy(format!("give one of {}", TUNNELS.map(|one| one.word).join(", ")))
        })
    }

    /// The word that [`Tunnel::read`] has for it: `tb3`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.word
    }

    /// The most that TLPs can have of one direction, Gb/s: the line, or the port of its controllers.
    #[must_use]
    pub fn raw_gbps(self) -> f64 {
        self.slower_port().map_or(f64::from(self.line_gbps), Links::raw_gbps)
    }

    /// The port of its controllers, if that is slower than the line.
    fn slower_port(self) -> Option<Links> {
        let port = self.port.map(|generation| Links { generation, lanes: PORT_LANES, count: 1 });
        port.filter(|port| port.raw_gbps() < f64::from(self.line_gbps))
    }
}

impl fmt::Display for Tunnel {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name)?;
        self.slower_port().map_or(Ok(()), |port| write!(to, " from a port of {port}"))
    }
}
