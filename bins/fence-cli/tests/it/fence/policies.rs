//! Tests of `policy show`, `digest` and `lint`.

use serde_json::{Value, json};
use test_support::process::run;

use crate::fence::desk::{Desk, Refused as _, pinned_policy, root_file, vector};

#[test]
fn the_digest_is_that_of_the_vector() {
    let desk = Desk::new();
    let document = &vector("rules_document")["vector"]["document"];
    desk.put("rules.json", &format!("{document:#}"));
    let ended = desk.run("policy digest --policy-file rules.json");
    assert_eq!(
        ended.ok().stdout,
        "0x609a8fda4ad5df10b28252f78de1a7dc8dd69788dd6da9dd7baacb8c76fc7da6\n"
    );
    let json = desk
        .run("policy digest --policy-file rules.json --json")
        .json();
    assert_eq!(json["policy_name"], "svc-base-swap-fence.v3");
    let lint = desk.run("policy lint --policy-file rules.json");
    for part in [
        "svc-base-swap-fence.v3 can be enforced",
        "shape_without_fee_leg: ",
        "integrator_not_named: ",
        "output_tokens_not_named: ",
    ] {
        assert!(lint.ok().stdout.contains(part), "{lint:?}");
    }
}

#[test]
fn the_pinned_policy_needs_no_file_and_is_recognised_in_one() {
    let desk = Desk::new();
    let without = desk.run("policy show");
    let with = desk.run("policy show --policy-file policy.json");
    assert_eq!(without.ok().stdout, with.ok().stdout);
    for part in [
        "at most           5000 USDC in one swap, fees included; no daily and no total limit",
        "chain             Base (8453)",
        "through           0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        "ends in           WETH 0x4200000000000000000000000000000000000006 (github.com/aave-dao/",
        "                  cbBTC 0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf (",
        "this is the policy that this build of fence-cli pins",
    ] {
        assert!(with.stdout.contains(part), "{part}: {with:?}");
    }
    let lint = desk.run("policy lint");
    assert_eq!(lint.ok().stdout, "svc-base-swap-fence.v2 can be enforced\n");
}

/// The fees of the page with an address of the operator's own.
fn fees() -> String {
    let own = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    root_file("docs/fees.example.toml").replace("0xYOUR_OWN_ADDRESS", own)
}

/// The names are those of a service that does not start with such a policy.
#[test]
fn a_policy_that_no_service_would_use_is_refused_with_the_fees() {
    let desk = Desk::new();
    desk.put("fees.toml", &fees());
    let lint = |fees: &str| {
        let verb = "policy lint --policy-file policy.json";
        desk.run(&format!("{verb} --fees {fees}"))
    };
    assert_eq!(
        lint("fees.toml").ok().stdout,
        "svc-base-swap-fence.v2 can be enforced\nthe fee configuration 2026-11-23 reviews its router\n"
    );
    desk.put("old.toml", &fees().replace("2026-11-23", "2026-11-01"));
    lint("old.toml").refused_by("fence_fee_version");
    lint("none.toml").error(3, &["none.toml"]);
    type Edit = fn(&mut Value);
    let unlisted: Edit = |policy| drop(policy.as_object_mut().unwrap().remove("output_tokens"));
    let unreviewed: Edit =
        |policy| policy["router"] = "0x74a55CaDb12501A3707E9F3C5dfd8b563C6A5940".into();
    for (edit, code) in [
        (unlisted, "policy_without_output_tokens"),
        (unreviewed, "policy_router_unreviewed"),
    ] {
        desk.put("policy.json", &pinned_policy());
        desk.edit("policy.json", edit);
        lint("fees.toml").refused_by(code);
        // Without the fees the same document is only advised about.
        desk.run("policy lint --policy-file policy.json").ok();
    }
}

#[test]
fn another_policy_shows_the_differences() {
    let desk = Desk::new();
    desk.edit("policy.json", |policy| {
        policy["per_swap_cap"] =
            json!({"unit": "input_token_atoms", "max": "9000000000", "usd": "9000"});
    });
    let shown = desk.run("policy show --policy-file policy.json");
    for part in [
        "NOT the policy that this build of fence-cli pins:",
        "$.per_swap_cap.max: pinned \"5000000000\", here \"9000000000\"",
        "$.per_swap_cap.usd: pinned \"5000\", here \"9000\"",
    ] {
        assert!(shown.ok().stdout.contains(part), "{part}: {shown:?}");
    }
    let pinned = desk.run("policy digest").stdout;
    let said = desk.run(&format!(
        "policy show --policy-file policy.json --policy-digest {}",
        pinned.trim()
    ));
    let said = said.refused_by("fence_digest_mismatch");
    assert!(said.contains("$.per_swap_cap.max: pinned"), "{said}");
}

#[test]
fn six_broken_policies_have_six_messages() {
    let desk = Desk::new();
    let good = pinned_policy();
    let mut seen: Vec<String> = Vec::new();
    let mut check = |text: String, code: &str| {
        desk.put("bad.json", &text);
        let ended = desk.run("policy digest --policy-file bad.json");
        let said = ended.refused_by(code).to_owned();
        assert!(said.contains("bad.json: "), "{said}");
        assert!(!seen.contains(&said), "twice: {said}");
        seen.push(said);
    };
    check(String::new(), "policy_malformed");
    check("policy".to_owned(), "policy_malformed");
    check(
        good.replace("\"version\": 2,", "\"version\": 2, \"version\": 2,"),
        "policy_malformed",
    );
    check(
        good.replace("\"version\": 2", "\"version\": 2.0"),
        "policy_malformed",
    );
    check(good.replace("\"router\"", "\"rooter\""), "policy_malformed");
    check(
        good.replace("0x833589fCD6", "0x833589fcd6"),
        "policy_malformed",
    );
    check(
        good.replace("\"daily_cap\": null", "\"daily_cap\": \"1\""),
        "policy_unenforceable",
    );
    check(good.replace("\"5000\"", "\"6000\""), "policy_unenforceable");
    check(
        good.replace("0x5fd9ae2e", "0x4666fc80"),
        "policy_unenforceable",
    );
}

#[test]
fn settings_come_from_flag_then_environment_then_file() {
    let desk = Desk::new();
    let vector: Value = vector("rules_document")["vector"]["document"].clone();
    desk.put("v3.json", &vector.to_string());
    std::fs::create_dir_all(desk.path(".config/svc-fence")).unwrap();
    let at = desk.path("v3.json");
    desk.put(
        ".config/svc-fence/config.toml",
        &format!("policy_file = {at:?}\n"),
    );
    assert_eq!(
        desk.run("policy digest --json").json()["policy_name"],
        "svc-base-swap-fence.v3"
    );
    let mut command = desk.fence_cli();
    command
        .args(["policy", "digest", "--json"])
        .env("SVC_FENCE_POLICY_FILE", desk.path("policy.json"));
    let ended = run(&mut command);
    assert_eq!(ended.json()["policy_name"], "svc-base-swap-fence.v2");
    desk.put(".config/svc-fence/config.toml", "password = \"hunter2\"\n");
    let ended = desk.run("policy digest");
    ended.error(
        3,
        &[
            "config.toml: not the settings of fence-cli",
            "unknown field `password`",
        ],
    );
    assert!(!ended.stderr.contains("hunter2"));
}
