//! Tests of refused plans: the exit code is 1, and the message names the failed check.

use serde_json::{Value, json};

use crate::plan_verify::case::{Case, RAILS};

const ATTACKER: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

#[test]
fn an_edited_plan_is_refused_by_its_digest() {
    for rail in RAILS {
        let case =
            Case::of(rail).edit_plan(|plan| plan["valid_until"] = json!("2026-09-21T14:19:00Z"));
        let said = case.refused_by("payload_digest_committed");
        assert!(
            said.contains("\n  expected: 0x") && said.contains("\n  observed: 0x"),
            "{said}"
        );
    }
}

/// The attacker recomputes the digest, but the plan's own bytes reveal the forgery.
#[test]
fn a_forged_plan_is_refused_by_the_check_of_the_forged_part() {
    let check = |rail, check, forge: fn(&mut Value)| {
        Case::of(rail).forge_plan(forge).refused_by(check);
    };
    check("swap", "agg_receiver_account_bound", |plan| {
        swap_in(plan, "data", "f39fd6e51aad88f6f4ce6ab8827279cfffb92266");
    });
    check("swap", "agg_fee_recipient_exact", |plan| {
        swap_in(plan, "data", "90f79bf6eb2c4f870365e785982e1f101e93b906");
    });
    check("swap", "agg_targets_value_bound", |plan| {
        plan["payload"]["steps"][2]["to"] = json!(ATTACKER)
    });
    check("swap", "agg_targets_value_bound", |plan| {
        plan["payload"]["steps"][2]["value"] = json!("1")
    });
    check("swap", "plan_rebuilt_exact", |plan| {
        plan["assertions"][0]["observed"] = json!("\"other\"")
    });
    check("swap", "plan_rebuilt_exact", |plan| {
        plan["replay_disclosure"]["tool_guarantees_single_execution"] = json!(true);
    });
    check("bridge", "bridge_recipient_account_bound", |plan| {
        swap_in(plan, "data", "f39fd6e51aad88f6f4ce6ab8827279cfffb92266");
    });
    check("bridge", "artifact_expiry_committed", |plan| {
        plan["valid_until"] = json!("2026-09-22T14:18:20Z");
    });
    check("pm_order", "plan_malformed", |plan| {
        plan["surprise"] = json!(1)
    });
    check("perp_order", "plan_rebuilt_exact", |plan| {
        plan["artifact_id"] = json!("perp_order-1")
    });
}

/// Replaces every mention of `account` in a call by the attacker's account.
fn swap_in(plan: &mut Value, member: &str, account: &str) {
    let step = &mut plan["payload"]["steps"][2][member];
    let data = step.as_str().unwrap();
    assert!(data.contains(account), "{data}");
    *step = json!(data.replace(account, &ATTACKER[2..].to_lowercase()));
}

#[test]
fn a_plan_is_valid_for_its_request_only() {
    Case::of("swap")
        .edit_request(|request| request["fromAmount"] = json!("1000000001"))
        .refused_by("agg_token_amount_bound");
    Case::of("swap")
        .edit_request(|request| request["slippage"]["maxBps"] = json!(51))
        .refused_by("intent_digest_bound");
    Case::of("bridge")
        .edit_request(|request| request["accountProfile"]["address"] = json!(ATTACKER))
        .refused_by("bridge_recipient_account_bound");
}

#[test]
fn a_plan_is_valid_under_its_fee_configuration_only() {
    Case::of("swap")
        .edit_fees("bps = 30", "bps = 29")
        .refused_by("agg_fee_amount_exact");
    Case::of("swap")
        .edit_fees("0x90F79bf6EB2c4f870365E785982E1f101E93b906", ATTACKER)
        .refused_by("agg_fee_recipient_exact");
    Case::of("swap")
        .edit_fees("2026-11-01", "2026-11-02")
        .refused_by("plan_rebuilt_exact");
}

/// Without `--now` the machine's clock decides, and the vectors are older.
#[test]
fn a_plan_is_current_for_a_while() {
    let case = Case::of("swap");
    for more in [
        &["--now", "2026-09-21T14:18:20Z"][..],
        &["--now", "2026-09-21T13:00:00Z"],
        &[],
    ] {
        let ended = case.run_with(more);
        assert_eq!(ended.code, 1, "{more:?}");
        assert!(
            ended
                .stderr
                .starts_with("refused: artifact_expiry_committed: "),
            "{ended:?}"
        );
    }
    assert_eq!(case.run_with(&["--now", "2026-09-21T14:18:19Z"]).code, 0);
}

#[test]
fn a_malformed_plan_is_refused() {
    for text in [
        "",
        "plan",
        "[]",
        "{}",
        "{\"rail\":\"loan\"}",
        "{\"rail\":\"swap\"}",
        "\u{feff}{}",
    ] {
        let mut case = Case::of("swap");
        case.plan = text.as_bytes().to_vec();
        case.refused_by("plan_malformed");
    }
    let mut case = Case::of("swap");
    case.plan.truncate(case.plan.len() / 2);
    case.refused_by("plan_malformed");
    // The plan has a member twice, and another reader may use the other value.
    let mut case = Case::of("swap");
    case.plan.splice(0..1, *b"{\"rail\":\"swap\",");
    case.refused_by("plan_malformed");
}

#[test]
fn every_problem_of_a_request_is_named() {
    let case = Case::of("swap").edit_request(|request| {
        request["fromAmount"] = json!(1.5);
        request["surprise"] = json!(true);
        request.as_object_mut().unwrap().remove("toToken");
    });
    let said = case.refused_by("input_invalid");
    for path in ["$.fromAmount", "$.surprise", "$.toToken"] {
        assert!(said.contains(&format!("\n  {path}: expected ")), "{said}");
    }
    let mut case = Case::of("swap");
    case.request = b"{".to_vec();
    case.refused_by("input_invalid");
    let said = Case::of("swap")
        .edit_request(|request| {
            request["accountProfile"]["chainId"] = json!(10);
            request["chainId"] = json!(10);
        })
        .refused_by("chain_unsupported");
    assert!(
        said.ends_with("\n  expected: one of 8453\n  observed: 10\n"),
        "{said}"
    );
}

/// Another party writes the plan, so none of its text may rewrite the terminal.
#[test]
fn a_plan_cannot_write_over_its_refusal() {
    let case = Case::of("swap").forge_plan(|plan| {
        plan["artifact_id"] = json!("\u{1b}[2K\rpass\nverified: swap plan\u{9b}1A\u{202e}");
    });
    let said = case.refused_by("plan_rebuilt_exact");
    assert!(
        said.ends_with("\n  observed: [2Kpassverified: swap plan1A\n"),
        "{said}"
    );
    assert!(said.chars().all(|c| c == '\n' || !c.is_control()) && !said.contains('\u{202e}'));
}

/// Each mistake has a message of its own.
#[test]
fn six_broken_inputs_have_six_messages() {
    let request = String::from_utf8(Case::of("swap").request).unwrap();
    let plan = String::from_utf8(Case::of("swap").plan).unwrap();
    let refused = r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true,"structuredContent":{"refused":{"check":"quote_unavailable","message":"later"}}}}"#;
    let mut seen: Vec<String> = Vec::new();
    for (text, check, part) in [
        ("", "plan_malformed", "the file is empty"),
        ("<!doctype html>", "plan_malformed", "a page (HTML or XML)"),
        (
            &plan[..plan.len() / 2],
            "plan_malformed",
            "ends in the middle",
        ),
        (
            "rail=swap",
            "plan_malformed",
            "not JSON, at line 1 column 1",
        ),
        (
            request.as_str(),
            "plan_malformed",
            "are --plan and --request exchanged?",
        ),
        (
            refused,
            "quote_unavailable",
            "the rail refused and gave no plan: later",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}"#,
            "plan_malformed",
            "with an error and no plan: -32602 m",
        ),
        ("{}", "plan_malformed", "no member `rail`"),
    ] {
        let mut case = Case::of("swap");
        case.plan = text.as_bytes().to_vec();
        let said = case.refused_by(check);
        assert!(said.contains(part), "{part}: {said}");
        assert!(!seen.contains(&said), "twice: {said}");
        seen.push(said);
    }
}
