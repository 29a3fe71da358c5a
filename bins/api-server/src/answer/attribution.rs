//! The attributions that sources require wherever their answers are shown.

use data_sources::{Attribution, Provenance, SourceStatus, attribution};

/// The attributions of the sources that contributed, each upstream once.
pub(super) fn attributed(sources: &[Provenance]) -> Vec<&'static Attribution> {
    let mut attributions: Vec<&'static Attribution> = Vec::new();
    let gave = sources
        .iter()
        .filter(|source| !matches!(source.status, SourceStatus::Unavailable { .. }));
    for wanted in gave.filter_map(|source| attribution(source.source)) {
        if !attributions.contains(&wanted) {
            attributions.push(wanted);
        }
    }
    attributions
}
