//! Tests of accepted plans, for which the exit code is 0.

use serde_json::{Value, json};
use test_support::process::run;

use crate::plan_verify::case::{Case, RAILS, fence_cli};

/// The checks of a recorded plan that hold only by readings which the plan itself states.
fn stated(rail: &str) -> &'static [&'static str] {
    match rail {
        "swap" => &["agg_min_out_slippage_bound"],
        "bridge" => &["bridge_recipient_controlled_on_destination"],
        "pm_order" => &[
            "pm_neg_risk_exchange_matched",
            "pm_token_bound",
            "pm_price_tick_aligned",
            "pm_size_lot_bound",
            "pm_builder_exact",
            "pm_version_pinned",
        ],
        _ => &[
            "perp_builder_fee_exact",
            "perp_price_band",
            "perp_tpsl_direction",
        ],
    }
}

#[test]
fn a_plan_is_accepted_with_every_check_and_its_observation() {
    for rail in RAILS {
        let case = Case::of(rail);
        let plan: Value = serde_json::from_slice(&case.plan).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let ended = case.run();
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        let (rows, rest) = ended.stdout.split_once("\n\n").unwrap();
        // The lines are those of the plan's own report. Only the checks that hold by the plan's
        // readings are open.
        let passed = plan["assertions"].as_array().unwrap().iter();
        for row in passed {
            let (name, observed) = (text(&row["name"]), text(&row["observed"]));
            let line = rows.lines().find(|line| line.contains(&name)).unwrap();
            let is_open = stated(rail).contains(&name.as_str());
            assert!(
                line.starts_with(if is_open { "open  " } else { "pass  " }),
                "{line}"
            );
            assert_eq!(line.contains(", as the plan states: "), is_open, "{line}");
            assert!(line.ends_with(&observed), "{line}");
        }
        for row in plan["not_established"].as_array().into_iter().flatten() {
            let (name, why) = (text(&row["name"]), text(&row["why"]));
            let line = rows.lines().find(|line| line.contains(&name)).unwrap();
            assert!(line.starts_with("open  ") && line.ends_with(&why), "{line}");
        }
        // A judgement is the plan's own statement, and the tool says that.
        for row in plan["judgements"].as_array().into_iter().flatten() {
            let (name, observed) = (text(&row["name"]), text(&row["observed"]));
            let line = rows.lines().find(|line| line.contains(&name)).unwrap();
            assert!(line.starts_with("said  "), "{line}");
            let said = format!(
                "{}, as the plan says of itself: {observed}",
                text(&row["result"])
            );
            assert!(line.ends_with(&said), "{line}");
        }
        let digest = text(&plan["submission"]["payload_digest"]);
        let last = format!(
            "verified: {rail} plan {digest}\nvalid until {}\n",
            text(&plan["valid_until"])
        );
        assert!(rest.ends_with(&last), "{rest}");
        insta::assert_snapshot!(format!("words_{rail}"), format!("\n{rest}"));
    }
}

/// The tool describes the transaction from the calldata, and prints that before the word
/// *verified*.
#[test]
fn the_description_follows_the_calldata() {
    let show = |plan: &[u8]| {
        let case = Case::of("swap");
        std::fs::write(case.path("plan"), plan).unwrap();
        let mut command = fence_cli();
        command.args(["plan", "show", "--plan"]);
        run(command.arg(case.path("plan")))
    };
    let honest = show(&Case::of("swap").plan);
    assert_eq!((honest.code, honest.stderr.as_str()), (0, ""));
    for part in [
        "gives          1000 USDC\n",
        "gets at least  0.395811 WETH\n",
        "(the account itself)\n",
        "fee            3 USDC to 0x90F79bf6EB2c4f870365E785982E1f101E93b906 (own)\n",
        "fee            2.5 USDC to 0xC06ebbefD94032B85424D51906e2A335EFAe264B (aggregator)\n",
        "by this machine's clock (",
        "NOT JUDGED",
    ] {
        assert!(honest.stdout.contains(part), "{part}: {honest:?}");
    }
    assert!(!honest.stdout.contains("verified:"));
    let robbed = Case::of("swap").edit_plan(|plan| {
        let call = plan["payload"]["steps"][2]["data"].as_str().unwrap();
        let robbed = call.replacen(
            "f39fd6e51aad88f6f4ce6ab8827279cfffb92266",
            "70997970c51812dc3a010c7d01b50e0d17dc79c8",
            1,
        );
        plan["payload"]["steps"][2]["data"] = json!(robbed);
    });
    let robbed = show(&robbed.plan);
    let part = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8 (NOT the account)";
    assert!(robbed.stdout.contains(part), "{robbed:?}");
    // A text of another party cannot move the cursor.
    let sly = Case::of("swap").edit_plan(|plan| plan["valid_until"] = json!("x\u{1b}[2Kverified"));
    let sly = show(&sly.plan);
    assert!(sly.stdout.contains("x\\u{1b}[2Kverified"), "{sly:?}");
}

#[test]
fn the_rails_raw_answer_is_a_plan() {
    for rail in RAILS {
        let mut case = Case::of(rail);
        let expected = case.run().stdout;
        let plan = String::from_utf8(case.plan.clone()).unwrap();
        let text = serde_json::Value::from(plan.as_str());
        let result = format!(
            "{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"structuredContent\":{plan},\"isError\":false}}"
        );
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}");
        let stream = format!("event: message\ndata: {}\n\n", answer.replace('\n', " "));
        for wrapped in [result, answer, stream] {
            case.plan = wrapped.into_bytes();
            assert_eq!(case.run().stdout, expected);
        }
    }
}

#[test]
fn verified_bytes_come_out_alone() {
    let case = Case::of("swap");
    let plan: Value = serde_json::from_slice(&case.plan).unwrap();
    let emitted = case.run_with(&["--now", crate::plan_verify::case::NOW, "--emit", "steps"]);
    assert_eq!(emitted.code, 0);
    assert!(
        emitted.stderr.contains("\nverified: swap plan 0x"),
        "{emitted:?}"
    );
    let steps = emitted.json();
    for (index, step) in plan["payload"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        for member in ["to", "value", "data", "kind"] {
            assert_eq!(steps[index][member], step[member]);
        }
        assert_eq!(steps[index]["chain_id"], 8453);
        assert_eq!(steps[index]["from"], plan["account_binding"]["address"]);
    }
    let cast = case.run_with(&["--now", crate::plan_verify::case::NOW, "--emit", "cast"]);
    let lines: Vec<_> = cast.stdout.lines().collect();
    assert_eq!(lines.len(), 3);
    let first = format!(
        "cast send --chain 8453 --from {} --value 0 {} {}",
        plan["account_binding"]["address"].as_str().unwrap(),
        plan["payload"]["steps"][0]["to"].as_str().unwrap(),
        plan["payload"]["steps"][0]["data"].as_str().unwrap()
    );
    assert_eq!(lines[0], first);
    // The tool prints no bytes for a plan that fails verification or that lacks them.
    let refused = |case: Case, form: &str, check: &str| {
        let ended = case.run_with(&["--now", crate::plan_verify::case::NOW, "--emit", form]);
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
        assert!(
            ended.stderr.starts_with(&format!("refused: {check}")),
            "{ended:?}"
        );
    };
    refused(
        Case::of("swap").edit_plan(|plan| plan["valid_until"] = json!("2026-09-21T14:19:00Z")),
        "steps",
        "payload_digest_committed",
    );
    refused(Case::of("swap"), "safe", "emit_unsupported");
    refused(Case::of("pm_order"), "cast", "emit_unsupported");
    let usage = case.run_with(&["--emit", "steps", "--json"]);
    assert_eq!(usage.code, 2);
}

#[test]
fn every_rail_is_verified_and_json_says_the_same() {
    for rail in RAILS {
        let case = Case::of(rail);
        let plan: Value = serde_json::from_slice(&case.plan).unwrap();
        let text = case.run();
        assert_eq!((text.code, text.stderr.as_str()), (0, ""), "{rail}");
        let json = case.run_with(&["--now", crate::plan_verify::case::NOW, "--json"]);
        assert_eq!((json.code, json.stderr.as_str()), (0, ""), "{rail}");
        let names = |member: &str| -> Vec<&Value> {
            let rows = plan[member].as_array().into_iter().flatten();
            rows.map(|row| &row["name"]).collect()
        };
        assert!(names("not_established").is_empty());
        let judged = names("judgements");
        assert_eq!(judged.is_empty(), rail != "swap");
        let (open, names): (Vec<_>, Vec<_>) = names("assertions")
            .into_iter()
            .partition(|name| stated(rail).contains(&name.as_str().unwrap()));
        assert!(names.len() >= 8);
        let verified = &json.json()["verified"];
        for (member, expected) in [
            ("rail", &json!(rail)),
            ("payload_digest", &plan["submission"]["payload_digest"]),
            ("intent_digest", &plan["intent_digest"]),
            ("valid_until", &plan["valid_until"]),
            ("judged_as_of", &json!(crate::plan_verify::case::NOW)),
            ("fee_version", &json!("2026-11-01")),
            ("checks", &json!(names)),
            ("not_established", &json!(open)),
        ] {
            assert_eq!(&verified[member], expected, "{rail} {member}");
        }
        let stated = verified["judgements"].as_array().unwrap().iter();
        let stated: Vec<_> = stated.map(|row| &row["name"]).collect();
        assert_eq!(stated, judged, "{rail}");
        assert!(verified["plan"].as_array().unwrap().len() >= 8);
        for name in names.into_iter().chain(open) {
            assert!(text.stdout.contains(name.as_str().unwrap()), "{name}");
        }
    }
}

#[test]
fn each_file_may_come_from_standard_input() {
    let case = Case::of("bridge");
    let expected = case.run().stdout;
    for piped in ["plan", "request", "fees"] {
        let ended = case.run_piping(piped);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (0, expected.as_str()),
            "{ended:?}"
        );
    }
}

#[test]
fn white_space_and_the_order_of_members_are_not_part_of_a_plan() {
    let mut case = Case::of("swap");
    let plan: Value = serde_json::from_slice(&case.plan).unwrap();
    let submission = &plan["submission"];
    let rest = plan
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| *name != "submission");
    let rest: Vec<_> = rest
        .map(|(name, value)| format!("\t{name:?} : {value:#}"))
        .collect();
    case.plan = format!(
        "{{\"submission\":{submission},\r\n{}}}\n\n",
        rest.join(",\n")
    )
    .into_bytes();
    assert_eq!(case.run().code, 0);
}

#[test]
fn a_time_with_an_offset_is_the_same_time() {
    let ended = Case::of("swap").run_with(&["--now", "2026-09-21T16:13:30.000+02:00"]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// A forger may have chosen the minimum of a plan, unless the request states a minimum. The tool
/// says so.
#[test]
fn a_verified_plan_has_notes_about_its_limits() {
    for (rail, part) in [
        (
            "swap",
            Some("set minAmountOut in the request if you want a least output"),
        ),
        ("bridge", Some("read the account yourself before you sign")),
        ("pm_order", None),
        ("perp_order", None),
    ] {
        let case = Case::of(rail);
        let said = case.run().stdout;
        let json = case.run_with(&["--now", crate::plan_verify::case::NOW, "--json"]);
        let notes = json.json()["verified"]["notes"].clone();
        assert_eq!(
            notes.as_array().unwrap().len(),
            usize::from(part.is_some()),
            "{rail}"
        );
        if let Some(part) = part {
            assert!(said.contains(part), "{said}");
            assert!(notes[0].as_str().unwrap().ends_with(part), "{notes}");
        }
    }
}

/// The caller may require a simulation. A simulation is only a claim of the plan about itself.
#[test]
fn a_simulation_can_be_required() {
    for (rail, code) in [
        ("swap", 1),
        ("bridge", 1),
        ("pm_order", 0),
        ("perp_order", 0),
    ] {
        let ended = Case::of(rail).run_with(&[
            "--now",
            crate::plan_verify::case::NOW,
            "--require-simulation",
        ]);
        assert_eq!(ended.code, code, "{rail}");
        if code == 1 {
            assert!(ended.stderr.starts_with("refused: simulation_unavailable"));
        }
    }
}

#[test]
fn an_unread_account_is_accepted_only_on_demand() {
    let unread = || {
        Case::of("bridge").forge_plan(|plan| {
            plan["payload"]["destination"]["control"]["source_code"] = json!("not_read");
            let check = plan["assertions"].as_array_mut().unwrap().remove(4);
            plan["not_established"] = json!([{
                "name": check["name"],
                "why": "source code not_read: a contract there would not hold the address elsewhere",
                "would_establish": check["establishes"],
            }]);
        })
    };
    let ended = unread().run();
    assert_eq!(ended.code, 1);
    let name = "refused: bridge_recipient_controlled_on_destination";
    assert!(ended.stderr.starts_with(name), "{}", ended.stderr);
    let ended = unread().run_with(&[
        "--now",
        crate::plan_verify::case::NOW,
        "--allow-unread-accounts",
    ]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let open = "open  bridge_recipient_controlled_on_destination";
    assert!(ended.stdout.contains(open), "{}", ended.stdout);
}
