//! Tests of `check-config --online` and `/readyz`, against a node whose router refuses a reviewed
//! leg.

use serde_json::json;
use test_support::eventually_blocking;

use crate::process::node::Node;
use crate::process::server::{Configured, get, run};

/// SushiSwap, the only reviewed leg of the recorded fee configuration.
const LEG: &str = "ac4c6e212a361c968f1725b4d055b47e63f80b75";

/// Starts a node of a chain whose router accepts every contract except those that contain
/// `refuses`.
fn node(chain_id: u64, refuses: &'static str) -> String {
    Node::open(chain_id, move |request| {
        let data = request["params"][0]["data"].as_str().unwrap_or_default();
        let yes = u8::from(refuses.is_empty() || !data.contains(refuses));
        Some(json!(format!("0x{yes:064x}")))
    })
    .url
}

fn configured(url: &str) -> Configured {
    Configured::new(&format!(
        "server.listen = '127.0.0.1:0'\nchains.8453.rpc_urls = ['{url}']"
    ))
}

/// Runs `check-config --online`. Returns the exit code, standard output and standard error.
fn check(url: &str) -> (i32, String, String) {
    let configured = configured(url);
    let path = configured.path();
    let path = path.to_str().unwrap();
    let ended = run(&["check-config", "--config", path, "--online"], &[]);
    (ended.code, ended.stdout, ended.stderr)
}

#[test]
fn reviewed_legs_are_compared_with_the_router() {
    let (code, said, message) = check(&node(8453, ""));
    assert!(
        said.contains("chains.8453.rpc_urls: ok: the router accepts all 2 reviewed calls"),
        "{said}"
    );
    assert_eq!((code, &*message), (0, ""));

    let (code, said, message) = check(&node(8453, LEG));
    assert!(
        said.contains("plans.fee_config chains[0].legs[0]: contradicts: leg_not_whitelisted: "),
        "{said}"
    );
    assert_eq!(code, 2);
    assert_eq!(
        message,
        "mcp-server: something contradicts the configuration\n"
    );

    let url = node(1, "");
    let (code, said, message) = check(&url);
    assert!(said.contains("is a node of chain 1"), "{said}");
    assert_ne!(code, 0);
    assert!(
        !said.contains(&url) && !message.contains(&url),
        "{said}{message}"
    );

    let (code, said, message) = check("http://127.0.0.1:9");
    assert!(
        said.contains("chains.8453.rpc_urls: not reached: "),
        "{said}"
    );
    assert_eq!(code, 1);
    assert_eq!(message, "mcp-server: something could not be reached\n");
}

/// The server stays ready for the other legs of the chain, and names the refused one.
#[test]
fn a_leg_that_the_router_refuses_is_named_and_does_not_end_the_server() {
    let configured = configured(&node(8453, LEG));
    let server = configured.serve();
    let address = server.address();
    eventually_blocking("the reason", || {
        let ready = get(address, "/readyz");
        assert_eq!(ready["ready"], true);
        let mut reasons = ready["reasons"].as_array().unwrap().iter();
        let found = reasons.any(|reason| {
            let says = reason["reason"].as_str().unwrap();
            reason["component"] == "plans.fee_config chains[0].legs[0]"
                && says.starts_with("leg_not_whitelisted")
        });
        found.then_some(())
    });
}
