//! Fee configurations for tests: the vectors' document with some changed members, reviewed.

use plan_builder::{FeeDocument, Policy};
use serde_json::Value;

use crate::vectors::read;

/// Reviews the vectors' configuration after an edit of its document.
pub(crate) fn policy_with(edit: impl FnOnce(&mut Value)) -> Policy {
    let mut document: Value = toml::from_str(&read("fees.toml")).unwrap();
    edit(&mut document);
    let document: FeeDocument = serde_json::from_value(document).unwrap();
    Policy::new(document.review().unwrap())
}
