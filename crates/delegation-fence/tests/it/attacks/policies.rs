//! Attack 35, and the content of a policy: one digest for one set of rules, and no unchecked rule.

use delegation_fence::{Policy, Rule, differences};
use serde_json::{Value, json};

use crate::attacks::{
    sample,
    stage::{EXAMPLE, edited_policy},
};

fn refused(edit: impl FnOnce(&mut Value)) -> Option<Rule> {
    edited_policy(edit).err().map(|refusal| refusal.rule)
}

/// The policy that comes with the service, by name and digest.
#[test]
fn the_policy_of_the_examples_is_pinned() {
    let policy = Policy::parse(EXAMPLE).unwrap();
    assert_eq!(policy.name().as_str(), "svc-base-swap-fence.v2");
    assert_eq!(
        policy.digest().to_string(),
        "0x9067b0ee2b8b59490509d1a0461a502991d91294cfe41b53d950a1862bc19185"
    );
    assert!(policy.lint().is_empty());
    let tokens = policy.output_tokens();
    let symbols: Vec<_> = tokens.iter().map(|token| token.symbol.as_str()).collect();
    assert_eq!(symbols, ["WETH", "cbBTC", "cbETH", "DAI"]);
    assert!(tokens.iter().all(|token| token.source.contains(" at ")));
    assert_eq!(policy.per_swap_cap_usd().to_string(), "5000");
    let fees = include_str!("../../../../../docs/fees.example.toml");
    assert!(fees.contains(&format!("version = \"{}\"", policy.fee_config_version())));
}

#[test]
fn the_spelling_of_a_policy_is_not_its_digest() {
    let policy = Policy::parse(EXAMPLE).unwrap();
    let value: Value = serde_json::from_str(EXAMPLE).unwrap();
    for text in [
        value.to_string(),
        format!("{value:#}\n"),
        policy.canonical().to_owned(),
    ] {
        assert_eq!(Policy::parse(&text).unwrap(), policy);
    }
    // The same members in reverse order.
    let reversed: Vec<_> = value
        .as_object()
        .unwrap()
        .iter()
        .rev()
        .map(|(name, member)| format!("{}:{member}", json!(name)))
        .collect();
    let reversed = format!("{{{}}}", reversed.join(","));
    assert_eq!(Policy::parse(&reversed).unwrap().digest(), policy.digest());
}

#[test]
fn a_malformed_policy_is_refused() {
    let malformed = Some(Rule::PolicyMalformed);
    assert_eq!(refused(|_| {}), None);
    let edits: [fn(&mut Value); 21] = [
        |policy| policy["extra"] = 1.into(),
        |policy| policy["input_token"]["extra"] = 1.into(),
        |policy| drop(policy.as_object_mut().unwrap().remove("daily_cap")),
        |policy| drop(policy.as_object_mut().unwrap().remove("router")),
        |policy| policy["integrator"] = Value::Null,
        |policy| policy["version"] = json!(1.0),
        |policy| policy["version"] = "1".into(),
        |policy| policy["version"] = json!(-1),
        |policy| policy["per_swap_cap"]["max"] = 5_000_000_000_u64.into(),
        |policy| policy["per_swap_cap"]["max"] = "05000000000".into(),
        |policy| policy["per_swap_cap"]["max"] = "5e9".into(),
        |policy| policy["router"] = policy["router"].as_str().unwrap().to_lowercase().into(),
        |policy| policy["shapes"][0]["selector"] = "0x5FD9AE2E".into(),
        |policy| policy["shapes"][0]["selector"] = "0x5fd9ae2e00".into(),
        // One letter in two Unicode forms, and one that hides.
        |policy| policy["input_token"]["symbol"] = "USDC\u{e9}".into(),
        |policy| policy["name"] = "svc\u{200b}fence".into(),
        |policy| policy["name"] = "svc/fence".into(),
        |policy| policy["output_tokens"] = Value::Null,
        |policy| policy["output_tokens"][0]["decimals"] = 18.into(),
        |policy| policy["output_tokens"][0]["source"] = "".into(),
        |policy| {
            drop(
                policy["output_tokens"][0]
                    .as_object_mut()
                    .unwrap()
                    .remove("symbol"),
            )
        },
    ];
    for (index, edit) in edits.into_iter().enumerate() {
        assert_eq!(refused(edit), malformed, "{index}");
    }
    for text in [
        "",
        "[]",
        "{}",
        "null",
        &format!("{EXAMPLE}x"),
        &"[".repeat(300_000),
    ] {
        assert_eq!(Policy::parse(text).unwrap_err().rule, Rule::PolicyMalformed);
    }
    for number in ["1.0", "1e0", "5e3"] {
        let text = EXAMPLE.replace("\"version\": 2", &format!("\"version\": {number}"));
        assert_eq!(
            Policy::parse(&text).unwrap_err().rule,
            Rule::PolicyMalformed,
            "{number}"
        );
    }
    let twice = EXAMPLE.replace("\"version\": 2", "\"version\": 2, \"version\": 2");
    let refusal = Policy::parse(&twice).unwrap_err();
    assert_eq!(refusal.rule, Rule::PolicyMalformed);
    assert!(refusal.to_string().contains("$.version"), "{refusal}");
}

#[test]
fn an_unchecked_rule_is_refused() {
    let edits: [fn(&mut Value); 24] = [
        |policy| policy["schema"] = "svc.fence.policy/2".into(),
        |policy| policy["chain"] = "eip155:0".into(),
        |policy| policy["chain"] = "eip155:08453".into(),
        |policy| policy["chain"] = "base".into(),
        |policy| policy["daily_cap"] = "1".into(),
        |policy| policy["total_cap"] = "1".into(),
        |policy| policy["native_value_max"] = "1".into(),
        |policy| policy["per_swap_cap"]["unit"] = "usd".into(),
        // The author confuses decimals: 5000 atoms for 5000 dollars.
        |policy| policy["per_swap_cap"]["max"] = "5000".into(),
        |policy| policy["per_swap_cap"]["usd"] = "5001".into(),
        |policy| policy["input_token"]["decimals"] = 18.into(),
        |policy| {
            policy["per_swap_cap"] = json!({"unit": "input_token_atoms", "max": "0", "usd": "0"})
        },
        |policy| policy["receiver"] = "order.receiver".into(),
        |policy| policy["steps"] = json!(["approve", "call"]),
        |policy| policy["grant"]["max_days"] = 181.into(),
        |policy| policy["grant"]["default_days"] = 0.into(),
        |policy| policy["max_plans_in_flight"] = 2.into(),
        |policy| policy["shapes"] = json!([]),
        |policy| policy["shapes"][0]["model"] = "A".into(),
        |policy| policy["shapes"][0]["selector"] = "0x4666fc80".into(),
        |policy| policy["output_tokens"] = json!([]),
        |policy| policy["output_tokens"][0]["chain"] = "eip155:1".into(),
        |policy| policy["output_tokens"][1] = policy["output_tokens"][0].clone(),
        // A swap into what it began with is always refused.
        |policy| {
            policy["output_tokens"][0]["address"] = policy["input_token"]["address"].clone();
        },
    ];
    for (index, edit) in edits.into_iter().enumerate() {
        assert_eq!(refused(edit), Some(Rule::PolicyUnenforceable), "{index}");
    }
    let twice = |policy: &mut Value| {
        let shape = policy["shapes"][0].clone();
        policy["shapes"].as_array_mut().unwrap().push(shape);
    };
    assert_eq!(refused(twice), Some(Rule::PolicyUnenforceable));
    // A function of the router that takes native coin: its selector is correct, and no decoder
    // reads it.
    let native = |policy: &mut Value| {
        policy["shapes"][0] = json!({
            "model": "B", "selector": "0x736eac0b",
            "signature": "swapTokensMultipleV3NativeToERC20(bytes32,string,string,address,uint256,\
                          (address,address,address,address,uint256,bytes,bool)[])",
        });
    };
    assert_eq!(refused(native), Some(Rule::PolicyUnenforceable));
}

#[test]
fn every_difference_has_its_path() {
    let before = edited_policy(|_| {}).unwrap();
    let after = edited_policy(|policy| {
        policy["version"] = 3.into();
        policy["grant"]["default_days"] = 30.into();
        policy.as_object_mut().unwrap().remove("integrator");
    })
    .unwrap();
    let shown: Vec<_> = differences(&before, &after)
        .into_iter()
        .map(|change| {
            let side = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            format!(
                "{} {} {}",
                change.path,
                side(change.before),
                side(change.after)
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "$.grant.default_days 90 30",
            "$.integrator \"svc\" -",
            "$.version 2 3"
        ]
    );
    assert!(differences(&before, &before).is_empty());
    let name = delegation_fence::Name::new("svc-base-swap-fence.v2").unwrap();
    assert!(before.require_pinned(&name, before.digest()).is_ok());
    assert_eq!(
        after
            .require_pinned(&name, before.digest())
            .unwrap_err()
            .rule,
        Rule::FenceNameMismatch
    );
    assert_eq!(
        before
            .require_pinned(&name, after.digest())
            .unwrap_err()
            .rule,
        Rule::FenceDigestMismatch
    );
}

/// The listed tokens are part of what the holder signs.
#[test]
fn another_list_of_output_tokens_is_another_policy() {
    let before = edited_policy(|_| {}).unwrap();
    let edits: [fn(&mut Value); 3] = [
        |policy| drop(policy["output_tokens"].as_array_mut().unwrap().pop()),
        |policy| policy["output_tokens"][0]["source"] = "elsewhere".into(),
        |policy| drop(policy.as_object_mut().unwrap().remove("output_tokens")),
    ];
    for edit in edits {
        let after = edited_policy(edit).unwrap();
        assert_ne!(after.digest(), before.digest());
        assert!(
            differences(&before, &after)[0]
                .path
                .starts_with("$.output_tokens")
        );
    }
}

/// A policy that would let a stolen delegate's key choose the token, or that no plan could be sent
/// under.
#[test]
fn a_policy_is_compared_with_the_reviewed_fees() {
    let fees = sample::policy().fees;
    let judged = |edit: fn(&mut Value)| {
        let judged = edited_policy(edit).unwrap().require_reviewed(&fees);
        judged.err().map(|refusal| refusal.rule)
    };
    assert_eq!(judged(|_| {}), None);
    assert_eq!(
        judged(|policy| drop(policy.as_object_mut().unwrap().remove("output_tokens"))),
        Some(Rule::PolicyWithoutOutputTokens)
    );
    assert_eq!(
        judged(|policy| policy["router"] = sample::STRANGER.to_string().into()),
        Some(Rule::PolicyRouterUnreviewed)
    );
    // The same router on a chain that the fees do not name.
    let elsewhere = |policy: &mut Value| {
        policy["chain"] = "eip155:4242".into();
        for token in policy["output_tokens"].as_array_mut().unwrap() {
            token["chain"] = "eip155:4242".into();
        }
    };
    assert_eq!(judged(elsewhere), Some(Rule::PolicyRouterUnreviewed));
    assert_eq!(
        judged(|policy| policy["fee_config_version"] = "another".into()),
        Some(Rule::FenceFeeVersion)
    );
}
