//! The shipped presets of hosts and devices, which the library carries.

use pcie_describe::{
    DevicePreset, Files, HostPreset, Kind, Layer, Presets, Shipped, Value, read_device_preset, read_file,
    read_table,
};
use pcie_refusal::Refusal;
use serde_json::{Map, json};

macro_rules! carried {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../profiles/", $folder, "/", $name, ".toml")))),*]
    };
}

/// Names and texts of the profiles of hosts.
const HOSTS: &[(&str, &str)] = carried!("hosts":
    "bdw-e5-2630v4", "clx-6234", "gen5-gpu", "gen5-server", "generic-e5", "generic-e5-dual", "generic-idle",
    "hsw-e3-1226v3", "hsw-e5-2620v3", "hsw-e5-2637v3", "ib-e5-2620v2", "icx-6346", "snb-e5-2630");
/// Those of devices of fabrics.
const DEVICES: &[(&str, &str)] = carried!("fabrics/devices":
    "fpga-qdma", "fpga-xdma", "gpu", "gpu-h100", "nic-100g", "nic-200g", "nic-400g", "nvme-gen3", "nvme-gen4",
    "nvme-gen5");

/// The presets that the library carries.
pub(super) struct Carried {
    hosts: Vec<String>,
    devices: Vec<String>,
}

impl Carried {
    pub(super) fn new() -> Self {
        let names = |all: &[(&str, &str)]| all.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { hosts: names(HOSTS), devices: names(DEVICES) }
    }
}

/// The profiles of hosts as files.
struct HostFiles(Map<String, serde_json::Value>);

impl Files for HostFiles {
    type Error = Refusal;

    fn read(&mut self, kind: Kind, reference: &str, beside: Option<&str>) -> Result<Layer, Refusal> {
        Shipped(&self.0).read(kind, reference, beside)
    }

    fn about(error: Refusal, file: &str) -> Refusal {
        error.about(file)
    }
}

impl Presets for Carried {
    type Error = Refusal;

    fn hosts(&self) -> &[String] {
        &self.hosts
    }

    fn devices(&self) -> &[String] {
        &self.devices
    }

    fn host(&mut self, name: &str) -> Result<HostPreset, Refusal> {
        let mut tables = Map::new();
        for (name, text) in HOSTS {
            tables.insert((*name).to_owned(), Value::Table(read_table(text, name, |_| None)?).into_json());
        }
        let mut shipped = Map::new();
        shipped.insert("host".to_owned(), json!(tables));
        let file = read_file(Kind::Host, name, &mut HostFiles(shipped))?;
        Ok(HostPreset::of_profile(&file.values))
    }

    fn device(&mut self, name: &str) -> Result<DevicePreset, Refusal> {
        let found = DEVICES.iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| {
            let names: Vec<&str> = DEVICES.iter().map(|(name, _)| *name).collect();
            Refusal::of("device", name, pcie_refusal::unknown::suggestion(name, &names))
        })?;
        read_device_preset(text, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_preset_is_carried_and_can_be_read() {
        let profiles = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
        for (folder, carried) in [("hosts", HOSTS), ("fabrics/devices", DEVICES)] {
            let files = std::fs::read_dir(profiles.join(folder)).unwrap().map(|file| file.unwrap().path());
            let tomls = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
            let mut names: Vec<String> =
                tomls.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
            names.sort();
            assert_eq!(names, carried.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{folder}");
        }
        let mut presets = Carried::new();
        for (name, _) in HOSTS {
            assert!(presets.host(name).unwrap().host.memory_bytes > 0, "{name}");
        }
        for (name, _) in DEVICES {
            assert!(presets.device(name).unwrap().device["engine"]["tags"].as_u64().unwrap() > 0, "{name}");
        }
    }
}
