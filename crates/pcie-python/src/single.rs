//! NICs, engines, expanders, cores, BARs and messages for Python, as handles.

use pcie_describe::{InFile, Single, Source};
use pcie_model::pio::MessageProfile;
use pcie_refusal::{Kind, Refusal};
use pcie_sim::nic::Direction;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

use crate::describe::{Opened, ascii, table, written};
use crate::error::Result;
use crate::json::{parse, text};

/// Canonical JSON: keys sorted, no spaces, ASCII only.
fn canonical<T: InFile>(single: &Single<T>) -> Result<String> {
    let mut value = single.values()?;
    value.sort_all_objects();
    Ok(ascii(&text(&value)?))
}

/// The value of a dotted key; None where the description lacks its part.
fn get<'py, T: InFile>(py: Python<'py>, single: &Single<T>, key: &str) -> Result<Bound<'py, PyAny>> {
    let value = single.values()?.pointer(&format!("/{}", key.replace('.', "/"))).cloned();
    if value.is_none() && T::shape().at(key).is_none() {
        return Err(Refusal::new("unknown key").kind(Kind::UnknownKey).key(key).into());
    }
    Ok(written(py, value.unwrap_or_default())?)
}

/// A handle of a description in one file, with the methods that all of them have and its own.
macro_rules! handle {
    ($(#[$about:meta])* $name:ident of $content:ty { $($own:tt)* }) => {
        $(#[$about])*
        #[pyclass(frozen, module = "pcielab._core")]
        pub(crate) struct $name(pub(crate) Single<$content>);

        #[pymethods]
        impl $name {
            $($own)*

            /// A complete description of its JSON; `giver` names its source in messages.
            #[staticmethod]
            fn of_json(json: &str, giver: &str) -> Result<Self> {
                Ok(Self(Single::complete(parse(giver, json)?, giver)?))
            }

            /// The description with changes by dotted key; `giver`, unless empty, names what gave them in messages.
            #[pyo3(signature = (changes, giver = ""))]
            fn with_(&self, changes: &Bound<'_, PyDict>, giver: &str) -> Result<Self> {
                Ok(Self(self.0.with_(&table(changes)?, giver)?))
            }

            /// Canonical JSON: keys sorted, no spaces, ASCII only.
            fn json(&self) -> Result<String> {
                canonical(&self.0)
            }

            /// Nested tables of all values, and of the keys that only its file has.
            fn values<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
                Ok(written(py, self.0.values()?)?)
            }

            /// The value of a dotted key; None where the description lacks its part.
            fn get<'py>(&self, py: Python<'py>, key: &str) -> Result<Bound<'py, PyAny>> {
                get(py, &self.0, key)
            }

            /// The dotted keys that changes may have, each with the first sentence of its meaning.
            fn keys(&self) -> Result<Vec<(String, String)>> {
                Ok(self.0.keys()?)
            }

            /// What gave the value of a dotted key: a file, or `--set`; None of a description without a file.
            fn source(&self, key: &str) -> Option<String> {
                self.0.source(key)
            }
        }
    };
}

handle! {
    /// A NIC and its features, complete and checked.
    Nic of pcie_model::Nic {
        /// Reads a NIC by the name or path of its file, with changes by dotted key; `opened` reads files.
        ///
        /// `NAME+SWITCH` or `FILE+SWITCH` turns switches on.
        #[staticmethod]
        fn read(reference: &str, changes: &Bound<'_, PyDict>, opened: &Bound<'_, PyAny>) -> Result<Self> {
            let (file, switches) = pcie_model::Nic::split(reference);
            let source = Source::Named(file.to_owned());
            let read = pcie_describe::read_nic(source, table(changes)?, &mut Opened(opened))?;
            Ok(Self(read.with_switches(&switches)?))
        }

        /// A NIC that an earlier or later version recorded. None if a key is missing, null or unknown.
        ///
        /// `giver` names its source in messages, and `below` its table there.
        #[staticmethod]
        fn recorded(json: &str, giver: &str, below: &str) -> Result<Option<Self>> {
            Ok(Single::recorded(parse(giver, json)?, giver, below)?.map(Self))
        }

        /// The name or path of a NIC, and the switches after it.
        #[staticmethod]
        fn split(reference: &str) -> (&str, Vec<&str>) {
            pcie_model::Nic::split(reference)
        }

        /// The NIC with more switches on, which its name then shows.
        fn with_switches(&self, names: Vec<String>) -> Result<Self> {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Ok(Self(self.0.clone().with_switches(&names)?))
        }

        /// The NIC for frames of a size, FCS included: its steps with the switches that act on them, and no
        /// switches.
        ///
        /// Without a size, switches that act on small frames only are off.
        fn for_frames(&self, frame_bytes: Option<u64>) -> Self {
            Self(self.0.with_content(self.0.content.for_frames(frame_bytes).into_owned().into()))
        }

        /// Switches that are on and act on small frames only, with the largest of these frames.
        fn limits(&self) -> Vec<(&str, u32)> {
            self.0.content.limits()
        }

        /// One step of every key, each feature that is off and acts on frames of a size, and changes of all steps
        /// of a kind at once, as JSON.
        fn changes(&self, frame_bytes: u64) -> Result<String> {
            text(&pcie_why::of_nic(&self.0.content, frame_bytes)?)
        }

        /// The intervals of keys that no document gives and that no caller changed, as JSON by dotted key.
        fn intervals(&self) -> Result<String> {
            text(&self.0.known().plain.assumed.into_iter().collect::<BTreeMap<_, _>>())
        }

        /// The only direction of its steps, or both: `tx`, `rx` or `both`.
        fn direction(&self) -> &'static str {
            match pcie_why::direction_of(&self.0.content.plain) {
                Direction::Both => "both",
                Direction::Tx => "tx",
                Direction::Rx => "rx",
            }
        }

        /// Packets before the counted ones of a run that fill every queue with frames of a size.
        fn warm_up_packets(&self, frame_bytes: u64) -> u32 {
            pcie_why::warm_up_packets(&self.0.content.plain.queues, frame_bytes)
        }
    }
}

handle! {
    /// An engine that works on commands, complete and checked.
    Engine of pcie_model::Engine {
        /// Reads an engine by the name or path of its file, with changes by dotted key; `opened` reads files.
        #[staticmethod]
        fn read(reference: &str, changes: &Bound<'_, PyDict>, opened: &Bound<'_, PyAny>) -> Result<Self> {
            let source = Source::Named(reference.to_owned());
            Ok(Self(pcie_describe::read_engine(source, table(changes)?, &mut Opened(opened))?))
        }
    }
}

handle! {
    /// A memory expander, complete and checked.
    Expander of pcie_model::Expander {
        /// Reads an expander by the name or path of its file, with changes by dotted key; `opened` reads files.
        #[staticmethod]
        fn read(reference: &str, changes: &Bound<'_, PyDict>, opened: &Bound<'_, PyAny>) -> Result<Self> {
            let source = Source::Named(reference.to_owned());
            Ok(Self(pcie_describe::read_expander(source, table(changes)?, &mut Opened(opened))?))
        }
    }
}

handle! {
    /// A core with its host up to the link, complete and checked.
    Core of pcie_model::mmio::CoreProfile {
        /// Reads a core by the name or path of its file, with changes by dotted key; `opened` reads files.
        #[staticmethod]
        fn read(reference: &str, changes: &Bound<'_, PyDict>, opened: &Bound<'_, PyAny>) -> Result<Self> {
            let source = Source::Named(reference.to_owned());
            Ok(Self(pcie_describe::read_core(source, table(changes)?, &mut Opened(opened))?))
        }
    }
}

handle! {
    /// A device's memory behind a BAR, complete and checked.
    Bar of pcie_model::mmio::Bar {
        /// Reads a BAR by the name or path of its file, with changes by dotted key; `opened` reads files.
        #[staticmethod]
        fn read(reference: &str, changes: &Bound<'_, PyDict>, opened: &Bound<'_, PyAny>) -> Result<Self> {
            let source = Source::Named(reference.to_owned());
            Ok(Self(pcie_describe::read_bar(source, table(changes)?, &mut Opened(opened))?))
        }
    }
}

handle! {
    /// Messages of a core to a device, complete and checked.
    Messages of MessageProfile {
        /// Reads messages by the name or path of their file, with changes by dotted key; `opened` reads files.
        #[staticmethod]
        fn read(reference: &str, changes: &Bound<'_, PyDict>, opened: &Bound<'_, PyAny>) -> Result<Self> {
            let source = Source::Named(reference.to_owned());
            Ok(Self(pcie_describe::read_messages(source, table(changes)?, &mut Opened(opened))?))
        }

        /// The messages with another number of them for each doorbell.
        fn with_batch(&self, messages: u32) -> Result<Self> {
            Ok(Self(self.0.with_batch(messages)?))
        }

        /// A sentence on whose core answers; None of a generation that is not later than that of the times.
        fn times_of_older_link(&self, generation: u32) -> Option<String> {
            self.0.times_of_older_link(generation)
        }

        /// Messages that an earlier or later version recorded. None if a key is missing, null or unknown.
        ///
        /// `giver` names their source in messages, and `below` their table there.
        #[staticmethod]
        fn recorded(json: &str, giver: &str, below: &str) -> Result<Option<Self>> {
            Ok(Single::recorded(parse(giver, json)?, giver, below)?.map(Self))
        }
    }
}
