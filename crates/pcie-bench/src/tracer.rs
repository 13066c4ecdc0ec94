//! A wrapper that writes the slices of a device to a file, as lines of JSON.

use crate::backend::{Backend, Bench, OpenError, forward_to_backend};
use crate::device::{BandwidthSlice, Device, DeviceError, LatencySlice, Start, forward_to_device};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use pcie_workload::Test;
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// A back end whose devices are traced into a file; it does not change their numbers.
pub struct Traced {
    inner: Arc<dyn Backend>,
    path: PathBuf,
}

impl Traced {
    /// Traces the devices of `inner`. Lines are appended to the file at `path`.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>, path: PathBuf) -> Self {
        Self { inner, path }
    }
}

impl Backend for Traced {
    forward_to_backend!();

    fn options(&self) -> Map<String, Value> {
        self.inner.options()
    }

    fn open(&self) -> Result<Bench, OpenError> {
        let opened = OpenOptions::new().create(true).append(true).open(&self.path);
        let file = opened.map_err(|error| Refusal::new(error).about(self.path.display().to_string()))?;
        let Bench { device, host } = self.inner.open()?;
        Ok(Bench { device: Box::new(Tracer { device, file, position: 0 }), host })
    }
}

struct Tracer {
    device: Box<dyn Device>,
    file: File,
    position: u64,
}

/// Writes a line in one piece, so that the lines of several jobs do not mix.
fn write(mut file: &File, line: &Value) -> Result<(), DeviceError> {
    let line = format!("{line}\n");
    file.write_all(line.as_bytes())
        .map_err(|error| DeviceError::Failed(format!("writing the trace: {error}")))
}

impl Device for Tracer {
    forward_to_device!();

    fn begin(&mut self, start: Start<'_>) {
        self.position = start.position;
        self.device.begin(start);
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        write(&self.file, &json!({"position": self.position, "thrash": true}))?;
        self.device.thrash()
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        write(&self.file, &json!({"position": self.position, "warm_bytes": window_bytes}))?;
        self.device.warm(window_bytes)
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (file, position, mut written) = (&self.file, self.position, Ok(()));
        self.device.latency(test, &mut |slice| {
            let line = json!({"position": position, "elapsed_ns": slice.elapsed_ns, "ticks": slice.ticks});
            written = write(file, &line);
            if written.is_err() { ControlFlow::Break(()) } else { sink(slice) }
        })?;
        written
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (file, position, mut written) = (&self.file, self.position, Ok(()));
        self.device.bandwidth(test, &mut |slice| {
            let BandwidthSlice { transactions, elapsed_ns, anew } = slice;
            let mut line =
                json!({"position": position, "elapsed_ns": elapsed_ns, "transactions": transactions});
            if anew {
                line["anew"] = json!(true);
            }
            written = write(file, &line);
            if written.is_err() { ControlFlow::Break(()) } else { sink(slice) }
        })?;
        written
    }
}
