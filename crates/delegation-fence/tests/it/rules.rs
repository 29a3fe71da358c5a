//! The names of the rules are part of the contract.

use std::collections::BTreeSet;

use delegation_fence::Rule;

#[test]
fn the_names_of_the_rules_are_stable() {
    let names: Vec<_> = Rule::ALL
        .iter()
        .map(|rule| format!("{:?} {rule}", rule.class()))
        .collect();
    insta::assert_snapshot!(names.join("\n"));
    let distinct: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
    assert_eq!(distinct.len(), Rule::ALL.len());
}

/// A rule that no test provokes could refuse nothing, or everything.
#[test]
fn every_rule_is_provoked_by_a_test() {
    let tests = [
        include_str!("attacks/accounts.rs"),
        include_str!("attacks/chain.rs"),
        include_str!("attacks/delegations.rs"),
        include_str!("attacks/grants.rs"),
        include_str!("attacks/limits.rs"),
        include_str!("attacks/orders.rs"),
        include_str!("attacks/plans.rs"),
        include_str!("attacks/policies.rs"),
        include_str!("attacks/revocations.rs"),
        include_str!("attacks/rules.rs"),
        include_str!("attacks/signatures.rs"),
        include_str!("attacks/typed_data.rs"),
        include_str!("log.rs"),
    ]
    .concat();
    for rule in Rule::ALL {
        let name = format!("Rule::{rule:?}");
        assert!(tests.contains(&name), "{name} is not provoked");
    }
}
