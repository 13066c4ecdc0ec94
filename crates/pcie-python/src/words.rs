//! Known words that resemble an unknown one.

use pcie_refusal::{alike as alike_words, unknown};
use pyo3::prelude::*;

/// The known words that resemble an unknown one, the closest first.
#[pyfunction]
pub(crate) fn alike(word: &str, known: Vec<String>, most: usize) -> Vec<String> {
    owned(alike_words::alike(word, &borrowed(&known), most))
}

/// Known words that have all parts of a word.
#[pyfunction]
pub(crate) fn with_parts(word: &str, known: Vec<String>) -> Vec<String> {
    owned(alike_words::with_parts(word, &borrowed(&known)))
}

/// The known words that have the most parts of a word.
#[pyfunction]
pub(crate) fn with_most_parts(word: &str, known: Vec<String>, most: usize) -> Vec<String> {
    owned(alike_words::with_most_parts(word, &borrowed(&known), most))
}

/// The known word closest to a word.
#[pyfunction]
pub(crate) fn closest(word: &str, known: Vec<String>) -> Option<String> {
    unknown::closest(word, &borrowed(&known)).map(ToOwned::to_owned)
}

/// A remedy for an unknown word.
#[pyfunction]
pub(crate) fn suggestion(word: &str, known: Vec<String>) -> String {
    unknown::suggestion(word, &borrowed(&known))
}

fn borrowed(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn owned(words: Vec<&str>) -> Vec<String> {
    words.into_iter().map(ToOwned::to_owned).collect()
}
