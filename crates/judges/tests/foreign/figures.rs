//! Python computes the figures of recorded answers a second time, from the recordings of the
//! upstreams. The answers must have the same figures.

use std::collections::BTreeMap;

use judges::{Toolchain, judge};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Verdict {
    compared: BTreeMap<String, usize>,
    differences: Vec<String>,
}

#[tokio::test]
async fn figures_are_those_of_an_independent_computation() {
    let toolchain = Toolchain::from_env().unwrap();
    let script = toolchain.python_agent("figures.py");
    let verdict: Verdict = judge(script, &()).await.unwrap();
    assert!(verdict.differences.is_empty(), "{:#?}", verdict.differences);
    assert!(verdict.compared.len() > 30, "{:?}", verdict.compared);
}
