//! A description in a request: a shipped one, or the text of a file over shipped ones.

use pcie_describe::{
    Kind, Layer, Shipped, Single, Source, Table, Value as Written, read_bar, read_core, read_engine,
    read_expander, read_messages, read_nic,
};
use pcie_model::mmio::{Bar, CoreProfile};
use pcie_model::pio::MessageProfile;
use pcie_model::{Engine, Expander, Nic};
use pcie_refusal::Refusal;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A shipped description, or the text of a file over shipped ones, with changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Described {
    /// Its name, for a NIC with its features (`connectx-5+mprq`), or the name of the file.
    name: String,
    /// The text of the file; absent: the shipped one of the name.
    text: Option<String>,
    /// Tables of the shipped files by kind and name.
    shipped: Map<String, Value>,
    /// Changes by dotted key.
    #[serde(default)]
    changes: Map<String, Value>,
}

impl Described {
    /// A NIC, with the features that its name turns on.
    pub(crate) fn nic(&self) -> Result<Single<Nic>, Refusal> {
        let (name, switches) = Nic::split(&self.name);
        read_nic(self.source(Kind::Nic, name)?, self.changes(), &mut self.files())?.with_switches(&switches)
    }

    /// An engine.
    pub(crate) fn engine(&self) -> Result<Engine, Refusal> {
        let source = self.source(Kind::Engine, &self.name)?;
        Ok(read_engine(source, self.changes(), &mut self.files())?.content)
    }

    /// A memory expander.
    pub(crate) fn expander(&self) -> Result<Expander, Refusal> {
        let source = self.source(Kind::Expander, &self.name)?;
        Ok(read_expander(source, self.changes(), &mut self.files())?.content)
    }

    /// A core.
    pub(crate) fn core(&self) -> Result<CoreProfile, Refusal> {
        let source = self.source(Kind::Core, &self.name)?;
        Ok(read_core(source, self.changes(), &mut self.files())?.content)
    }

    /// A BAR.
    pub(crate) fn bar(&self) -> Result<Bar, Refusal> {
        let source = self.source(Kind::Bar, &self.name)?;
        Ok(read_bar(source, self.changes(), &mut self.files())?.content)
    }

    /// Messages of a core to a device.
    pub(crate) fn messages(&self) -> Result<Single<MessageProfile>, Refusal> {
        let source = self.source(Kind::Messages, &self.name)?;
        read_messages(source, self.changes(), &mut self.files())
    }

    fn source(&self, kind: Kind, name: &str) -> Result<Source, Refusal> {
        let Some(text) = &self.text else { return Ok(Source::Named(name.to_owned())) };
        let table = pcie_describe::read_table(text, name, |key| kind.remedy(key))?;
        pcie_describe::without_folder(&table, name)?;
        Ok(Source::Content(Layer { table, path: name.to_owned(), is_file: true }))
    }

    fn changes(&self) -> Table {
        self.changes.iter().map(|(key, value)| (key.clone(), Written::of_json(value.clone()))).collect()
    }

    fn files(&self) -> Shipped<'_> {
        Shipped(&self.shipped)
    }
}
