//! Tests of `limit …` and `order …`: the messages that a holder and an agent sign after the grant.

use serde_json::{Value, json};

use crate::fence::{
    desk::{ACCOUNT, DELEGATE, Desk, GRANT_ID, NOW, Refused as _, fixture},
    service::{Service, State},
};

pub(crate) const SIGN: &str = "--keystore owner.key --password-file password --yes";

#[test]
fn a_grant_is_tightened() {
    let desk = Desk::with_signed_grant();
    let said = desk.run(&format!(
        "limit new --grant signed.json --cap 1000 --max-swaps 20 --outflow-24h 3000 --now {NOW} --out limit.json"
    ));
    assert!(
        said.ok().stderr.starts_with("A grant made tighter"),
        "{said:?}"
    );
    let message = desk.json("limit.json")["message"].clone();
    assert_eq!(
        message,
        json!({"account": ACCOUNT, "grantId": GRANT_ID, "perSwapCap": "1000000000", "maxSwaps": "20",
            "outflow24h": "3000000000", "issuedAt": "1795222800"})
    );
    let signed = desk.run(&format!(
        "limit sign --in limit.json --signer {ACCOUNT} {SIGN} --out limited.json --json"
    ));
    assert_eq!(signed.ok().json()["signer"], ACCOUNT);
    let file = desk.json("limited.json");
    assert_eq!(file["typed_data"], desk.json("limit.json"));
    let signature = file["signature"].as_str().unwrap().to_owned();
    let attach = |signer: &str| {
        desk.run(&format!(
            "limit attach --in limit.json --signature {signature} --signer {signer}"
        ))
    };
    assert_eq!(attach(ACCOUNT).ok().json(), file);
    attach(DELEGATE).refused_by("wrong_signer");
    desk.run("grant inspect --in limited.json").ok();
    desk.run(&format!(
        "limit sign --in limit.json --signer {DELEGATE} {SIGN}"
    ))
    .refused_by("wrong_signer");

    let answer = json!({"account": ACCOUNT, "grant_id": GRANT_ID, "per_swap_cap": "1000000000", "max_swaps": 20,
        "outflow_24h": "3000000000"});
    let service = Service::start(State {
        fixed: Some((200, answer.to_string())),
        ..State::default()
    });
    let said = desk.run(&format!(
        "limit submit --in limited.json --url {}",
        service.url
    ));
    assert!(
        said.ok()
            .stdout
            .ends_with("per swap 1000 USDC, swaps 20, per 24 hours 3000 USDC\n"),
        "{said:?}"
    );
    let (method, path, body) = service.requests().remove(0);
    assert_eq!(
        (method.as_str(), path.as_str()),
        ("POST", "/delegation/limits")
    );
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), file);
}

/// The person states the limit in whole tokens, as in the grant's words, and sees the signed number
/// as well.
#[test]
fn a_limit_is_stated_in_whole_tokens() {
    let desk = Desk::with_signed_grant();
    let new = desk.run(&format!(
        "limit new --grant signed.json --cap 0.5 --now {NOW} --out limit.json"
    ));
    let signed = desk.run(&format!(
        "limit sign --in limit.json {SIGN} --out limited.json"
    ));
    for said in [new, signed] {
        for part in [
            "per swap          0.5 USDC (500000 of the smallest unit)\n",
            "swaps             no limit of its own\n",
            "per 24 hours      no limit of its own\n",
        ] {
            assert!(said.ok().stderr.contains(part), "{part}: {said:?}");
        }
    }
    // Without a usable policy the tool still signs the limit, because a limit can only tighten.
    let said = desk.run(&format!(
        "limit sign --in limit.json {SIGN} --policy-file absent.json"
    ));
    assert!(
        said.ok()
            .stderr
            .contains("500000 of the input token's smallest unit"),
        "{said:?}"
    );
    let answer = json!({"account": ACCOUNT, "grant_id": GRANT_ID, "per_swap_cap": "500000", "max_swaps": null,
        "outflow_24h": null});
    let service = Service::start(State {
        fixed: Some((200, answer.to_string())),
        ..State::default()
    });
    let said = desk.run(&format!(
        "limit submit --in limited.json --url {}",
        service.url
    ));
    assert!(
        said.ok()
            .stdout
            .ends_with("per swap 0.5 USDC, swaps no limit, per 24 hours no limit\n"),
        "{said:?}"
    );
}

#[test]
fn a_limit_that_limits_nothing_is_not_written() {
    let desk = Desk::with_signed_grant();
    for (flags, part) in [
        ("", "the limit limits nothing"),
        ("--max-swaps 0", "revoke the grant"),
        ("--cap 0", "--cap is not an amount above zero"),
        ("--cap 1.0000001", "at most 6 decimals"),
        ("--outflow-24h x", "--outflow-24h is not an amount"),
    ] {
        desk.run(&format!("limit new --grant signed.json {flags}"))
            .error(2, &[part]);
    }
}

/// The plan of the vectors has the fees of its day, so the policy of this grant has them, too.
pub(crate) fn ordering() -> Desk {
    let desk = Desk::new();
    desk.edit("policy.json", |policy| {
        policy["fee_config_version"] = json!("2026-11-01");
    });
    for name in ["swap.plan.json", "swap.request.json", "fees.toml"] {
        desk.put(name, &fixture(&format!("vectors/plans/{name}")));
    }
    let account = desk.json("swap.request.json")["accountProfile"]["address"].clone();
    desk.run(&format!(
        "grant new --policy-file policy.json --account {} --delegate {ACCOUNT} --project-id shop --salt 0x{} --grant-id {GRANT_ID} \
         --now 2026-09-21T14:13:30Z --out grant.json",
        account.as_str().unwrap(),
        "11".repeat(32)
    ))
    .ok();
    desk
}

pub(crate) const NEW: &str = "order new --grant grant.json --policy-file policy.json --plan swap.plan.json --request swap.request.json \
    --fees fees.toml --now 2026-09-21T14:13:30Z";

#[test]
fn a_plan_is_ordered() {
    let desk = ordering();
    let said = desk.run(&format!("{NEW} --out order.json"));
    assert!(
        said.ok()
            .stderr
            .starts_with("An order to send one plan, once"),
        "{said:?}"
    );
    let message = desk.json("order.json")["message"].clone();
    let plan = desk.json("swap.plan.json");
    assert_eq!(
        message["payloadDigest"],
        plan["submission"]["payload_digest"]
    );
    assert_eq!(
        message["minAmountOut"],
        plan["payload"]["quote"]["to_amount_min"]
    );
    assert_eq!(message["grantId"], GRANT_ID);
    // The deadline is thirty seconds before the plan expires.
    assert_eq!(message["deadline"], "1790000270");
    let signed = desk.run(&format!(
        "order sign --in order.json --signer {ACCOUNT} {SIGN}"
    ));
    let file = signed.ok().json();
    assert_eq!(file["typed_data"], desk.json("order.json"));
    let attached = desk.run(&format!(
        "order attach --in order.json --signature {}",
        file["signature"].as_str().unwrap()
    ));
    assert_eq!(attached.ok().json(), file);
    desk.put("ordered.json", &file.to_string());
    let said = desk.run("grant inspect --in ordered.json");
    assert!(
        said.ok().stdout.contains("An order to send one plan"),
        "{said:?}"
    );
}

#[test]
fn an_order_that_the_service_would_refuse_is_not_signed() {
    let desk = ordering();
    desk.run(&format!("{NEW} --min-amount-out 0"))
        .refused_by("order_min_out_invalid");
    desk.run(&format!("{NEW} --min-amount-out 395811000000000001"))
        .refused_by("order_min_out_invalid");
    desk.run(&format!("{NEW} --deadline 2026-09-21T14:13:29Z"))
        .refused_by("order_deadline_passed");
    let late = NEW.replace("14:13:30Z", "14:19:00Z");
    desk.run(&late).refused_by("artifact_expiry_committed");
    let pinned = NEW.replace("--policy-file policy.json ", "");
    desk.run(&pinned).refused_by("grant_policy_digest_mismatch");
    // The cap is below the plan's amount.
    desk.edit("grant.json", |grant| {
        grant["message"]["perSwapCap"] = json!("999999999");
    });
    desk.run(NEW).refused_by("fence_approve_cap");
    // Somebody changed the plan.
    let desk = ordering();
    desk.edit("swap.plan.json", |plan| {
        plan["valid_until"] = json!("2026-09-21T14:18:21Z");
    });
    assert_eq!(desk.run(NEW).code, 1);
    desk.run(&format!(
        "{} --fees -",
        NEW.replace("--plan swap.plan.json", "--plan -")
            .replace("--fees fees.toml", "")
    ))
    .error(2, &["only one of"]);
}
