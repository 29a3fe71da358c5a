//! Tests that the workspace keeps to its layers, and that the checker finds every kind of breach.

use xtask::layering::{EdgeKind, Graph, PackageIndex, Violation, check, table};

#[test]
fn this_workspace_keeps_to_its_layers() {
    let graph = Graph::read(env!("CARGO_MANIFEST_DIR")).unwrap();
    let violations: Vec<String> = check(&graph).iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

/// A tree that is not understood has no forbidden package either.
#[test]
fn shipped_programs_are_read_with_their_dependencies() {
    let graph = Graph::read(env!("CARGO_MANIFEST_DIR")).unwrap();
    let shipped: Vec<&str> = graph.shipped().map(|(program, _)| program).collect();
    assert_eq!(shipped, table::SHIPPED);
    for (program, names) in graph.shipped() {
        assert!(names.contains(program), "{program}: {names:?}");
        assert!(names.contains("clap"), "{program}: {names:?}");
    }
}

/// Makes a workspace with every member of the table and no edges. It breaks no rule.
fn bare() -> Graph {
    let mut graph = Graph::default();
    for row in table::MEMBERS {
        graph.member(row.name, "0.1.0");
    }
    graph
}

fn find(graph: &Graph, name: &str) -> PackageIndex {
    graph
        .members()
        .find(|member| graph.name(*member) == name)
        .unwrap()
}

/// Adds a chain `member → … → last` to a bare workspace, and compares the breaches. The last edge
/// is of `kind`.
#[track_caller]
fn check_chain(chain: &[&str], kind: EdgeKind, expected: &[&str]) {
    let mut graph = bare();
    let (first, rest) = chain.split_first().unwrap();
    let mut at = find(&graph, first);
    for (step, name) in rest.iter().enumerate() {
        let member = graph.members().find(|member| graph.name(*member) == *name);
        let next = member.unwrap_or_else(|| graph.external(name, "1.2.3"));
        let last = step + 1 == rest.len();
        graph.depend(at, next, if last { kind } else { EdgeKind::Normal });
        at = next;
    }
    let violations: Vec<String> = check(&graph).iter().map(ToString::to_string).collect();
    assert_eq!(violations, expected, "{chain:?}");
}

#[test]
fn a_workspace_without_edges_breaks_no_rule() {
    assert_eq!(check(&bare()), []);
}

#[test]
fn an_arrow_that_points_up_or_aside_is_refused() {
    check_chain(
        &["settlement", "route-catalog"],
        EdgeKind::Normal,
        &["settlement must not use route-catalog"],
    );
    check_chain(&["route-catalog", "x402-wire"], EdgeKind::Normal, &[]);
    check_chain(&["ledger", "settlement"], EdgeKind::Test, &[]);
}

#[test]
fn a_pure_crate_reaches_no_runtime_socket_store_file_or_clock() {
    check_chain(
        &["x402-wire", "tokio"],
        EdgeKind::Normal,
        &["x402-wire must not reach tokio (x402-wire → tokio)"],
    );
    check_chain(
        &["x402-wire", "some-cache", "rusqlite"],
        EdgeKind::Normal,
        &["x402-wire must not reach rusqlite (x402-wire → some-cache → rusqlite)"],
    );
    check_chain(
        &["route-catalog", "x402-wire", "helper", "chrono"],
        EdgeKind::Normal,
        &[
            "x402-wire must not reach chrono (x402-wire → helper → chrono)",
            "route-catalog must not reach chrono (route-catalog → x402-wire → helper → chrono)",
        ],
    );
    check_chain(&["x402-wire", "tokio"], EdgeKind::Test, &[]);
}

#[test]
fn the_agent_rail_links_no_keys() {
    check_chain(
        &["mcp-server", "helper", "alloy-signer-local"],
        EdgeKind::Normal,
        &[
            "mcp-server must not reach alloy-signer-local (mcp-server → helper → alloy-signer-local)",
        ],
    );
}

#[test]
fn reserved_packages_stay_at_home() {
    check_chain(
        &["api-server", "reqwest"],
        EdgeKind::Normal,
        &[
            "api-server must not use reqwest directly, only data-sources, settlement, tx-sender, custody-turnkey, judges, recorder, test-support may",
        ],
    );
    check_chain(&["settlement", "reqwest"], EdgeKind::Normal, &[]);
    check_chain(&["api-server", "reqwest"], EdgeKind::Test, &[]);
}

#[test]
fn oracles_are_for_the_tests_of_one_crate() {
    check_chain(&["judges", "ethers-core"], EdgeKind::Test, &[]);
    check_chain(
        &["judges", "ethers-core"],
        EdgeKind::Normal,
        &["ethers-core 1.2.3 must not be in the graph"],
    );
    check_chain(
        &["x402-wire", "ethers-core"],
        EdgeKind::Test,
        &["x402-wire must not use ethers-core directly, only judges may"],
    );
}

#[test]
fn a_second_tls_stack_is_refused() {
    check_chain(
        &["settlement", "some-client", "openssl-sys"],
        EdgeKind::Normal,
        &["openssl-sys 1.2.3 must not be in the graph"],
    );
}

#[test]
fn a_second_keccak_is_refused() {
    let mut graph = bare();
    let wire = find(&graph, "x402-wire");
    let ledger = find(&graph, "ledger");
    let judges = find(&graph, "judges");
    let [old, new, older] = ["0.11.0", "0.12.0", "0.10.8"].map(|v| graph.external("sha3", v));
    graph.depend(wire, old, EdgeKind::Normal);
    graph.depend(judges, older, EdgeKind::Test);
    assert_eq!(check(&graph), []);
    graph.depend(ledger, new, EdgeKind::Normal);
    let copies = vec!["sha3 0.11.0".to_owned(), "sha3 0.12.0".to_owned()];
    assert_eq!(check(&graph), [Violation::Copies { copies }]);
}

#[test]
fn a_stand_in_is_not_shipped() {
    let mut graph = bare();
    graph.ship("mcp-server", "mcp-server v0.1.0\nrevm-state v43.0.1\n");
    assert_eq!(check(&graph), []);
    graph.ship("mcp-server", "mcp-server v0.1.0\nrevm v43.0.3\n");
    let violations: Vec<String> = check(&graph).iter().map(ToString::to_string).collect();
    assert_eq!(
        violations,
        ["mcp-server is shipped and must not contain revm"]
    );
}

#[test]
fn members_and_rows_must_match() {
    let mut graph = bare();
    graph.member("side-project", "0.1.0");
    assert_eq!(
        check(&graph),
        [Violation::UnknownMember {
            member: "side-project".to_owned()
        }]
    );
    assert_eq!(check(&Graph::default()).len(), table::MEMBERS.len());
}

#[test]
fn the_signing_crates_reach_no_socket() {
    check_chain(
        &["fence-offline", "some-client", "ureq"],
        EdgeKind::Normal,
        &["fence-offline must not reach ureq (fence-offline → some-client → ureq)"],
    );
    check_chain(
        &["fence-cli", "some-client", "tokio"],
        EdgeKind::Normal,
        &["fence-cli must not reach tokio (fence-cli → some-client → tokio)"],
    );
}
