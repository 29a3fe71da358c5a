//! Orders made and signed by the venue's own client.

use alloy_primitives::{B256, Signature};
use calldata_checks::{Facts, pm_order::PmOrderFacts};

use crate::pm_order::plan::{plans, text, vectors};

#[test]
fn every_vector_passes_the_whole_table() {
    for plan in plans() {
        let report = plan.judge().unwrap();
        let names: Vec<_> = report.assertions().iter().map(|row| row.name).collect();
        let table: Vec<_> = PmOrderFacts::CHECKS
            .iter()
            .map(|check| check.name)
            .collect();
        assert_eq!(names, table);
    }
}

#[test]
fn separators_struct_hashes_and_order_hashes_are_those_of_the_client() {
    for (plan, vector) in plans().iter().zip(vectors()) {
        let decoded = plan.facts().unwrap().into_decoded();
        let word = |name: &str| text(&vector[name]).parse::<B256>().unwrap();
        assert_eq!(decoded.domain.separator(), word("domain_separator"));
        assert_eq!(decoded.order.struct_hash(), word("struct_hash"));
        assert_eq!(decoded.order.hash(&decoded.domain), word("order_hash"));
    }
}

/// The client's signature recovers to the maker under the recomputed hash, so that is the signed
/// hash.
#[test]
fn the_clients_signatures_are_over_the_recomputed_hash() {
    for (plan, vector) in plans().iter().zip(vectors()) {
        let decoded = plan.facts().unwrap().into_decoded();
        let signature: Signature = text(&vector["signature"]).parse().unwrap();
        let hash = decoded.order.hash(&decoded.domain);
        let signer = signature.recover_address_from_prehash(&hash).unwrap();
        assert_eq!(signer, decoded.order.maker);
    }
}

#[test]
fn the_table() {
    let rows: Vec<_> = PmOrderFacts::CHECKS
        .iter()
        .map(|row| format!("{}: {}", row.name, row.establishes))
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn the_observations_of_the_checks() {
    let report = plans()[1].judge().unwrap();
    let rows: Vec<_> = report
        .assertions()
        .iter()
        .map(|row| format!("{}: {}", row.name, row.observed.as_str()))
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}
