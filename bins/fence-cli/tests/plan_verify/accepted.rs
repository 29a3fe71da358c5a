//! Exit code 0.

use serde_json::{Value, json};

use crate::case::{Case, RAILS};

#[test]
fn a_plan_is_accepted_with_every_check_and_what_it_saw() {
    for rail in RAILS {
        let case = Case::of(rail);
        let plan: Value = serde_json::from_slice(&case.plan).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let passed = plan["assertions"].as_array().unwrap().iter();
        let passed = passed.map(|row| ("pass", text(&row["name"]), text(&row["observed"])));
        let open = plan["not_established"].as_array().into_iter().flatten();
        let open = open.map(|row| ("open", text(&row["name"]), text(&row["why"])));
        let rows: Vec<_> = passed.chain(open).collect();
        let width = rows.iter().map(|(_, name, _)| name.len()).max().unwrap();
        let rows = rows
            .iter()
            .map(|(result, name, observed)| format!("{result}  {name:width$}  {observed}\n"));
        let digest = text(&plan["submission"]["payload_digest"]);
        let expected = format!(
            "{}\nverified: {rail} plan {digest}\nvalid until {}\n",
            rows.collect::<String>(),
            text(&plan["valid_until"])
        );
        let ended = case.run();
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        assert_eq!(ended.stdout, expected);
    }
}

#[test]
fn every_rail_is_verified_and_json_says_the_same() {
    for rail in RAILS {
        let case = Case::of(rail);
        let plan: Value = serde_json::from_slice(&case.plan).unwrap();
        let text = case.run();
        assert_eq!((text.code, text.stderr.as_str()), (0, ""), "{rail}");
        let json = case.run_with(&["--now", crate::case::NOW, "--json"]);
        assert_eq!((json.code, json.stderr.as_str()), (0, ""), "{rail}");
        let names = |member: &str| -> Vec<&Value> {
            let rows = plan[member].as_array().into_iter().flatten();
            rows.map(|row| &row["name"]).collect()
        };
        let open = names("not_established");
        let names = names("assertions");
        assert!(names.len() >= 12);
        // The recorded swap was quoted without values, and no price was read.
        assert_eq!(open.is_empty(), rail != "swap");
        assert_eq!(
            json.json(),
            json!({"verified": {
                "rail": rail,
                "payload_digest": plan["submission"]["payload_digest"],
                "intent_digest": plan["intent_digest"],
                "valid_until": plan["valid_until"],
                "checks": names,
                "not_established": open,
            }})
        );
        for name in names.into_iter().chain(open) {
            assert!(text.stdout.contains(name.as_str().unwrap()), "{name}");
        }
    }
}

#[test]
fn each_file_may_be_standard_input() {
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

/// What the plan says of itself, the caller may require.
#[test]
fn a_simulation_can_be_required() {
    for (rail, code) in [
        ("swap", 1),
        ("bridge", 1),
        ("pm_order", 0),
        ("perp_order", 0),
    ] {
        let ended = Case::of(rail).run_with(&["--now", crate::case::NOW, "--require-simulation"]);
        assert_eq!(ended.code, code, "{rail}");
        if code == 1 {
            assert!(ended.stderr.starts_with("refused: simulation_unavailable"));
        }
    }
}

#[test]
fn an_account_that_nobody_read_is_accepted_only_on_demand() {
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
    let ended = unread().run_with(&["--now", crate::case::NOW, "--allow-unread-accounts"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let open = "open  bridge_recipient_controlled_on_destination";
    assert!(ended.stdout.contains(open), "{}", ended.stdout);
}
