//! Exit code 0.

use serde_json::{Value, json};

use crate::case::{Case, RAILS};

#[test]
fn a_plan_is_accepted_with_every_check_and_what_it_saw() {
    for rail in RAILS {
        let case = Case::of(rail);
        let plan: Value = serde_json::from_slice(&case.plan).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let rows = plan["assertions"].as_array().unwrap().iter();
        let rows: Vec<_> = rows
            .map(|row| (text(&row["name"]), text(&row["observed"])))
            .collect();
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap();
        let rows = rows
            .iter()
            .map(|(name, observed)| format!("pass  {name:width$}  {observed}\n"));
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
        let names: Vec<_> = plan["assertions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| &row["name"])
            .collect();
        assert!(names.len() >= 12);
        assert_eq!(
            json.json(),
            json!({"verified": {
                "rail": rail,
                "payload_digest": plan["submission"]["payload_digest"],
                "intent_digest": plan["intent_digest"],
                "valid_until": plan["valid_until"],
                "checks": names,
            }})
        );
        for name in names {
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
            let observed = "eoa: one key on both chains (source code not_read)";
            plan["assertions"][4]["observed"] = json!(observed);
        })
    };
    let ended = unread().run();
    assert_eq!(ended.code, 1);
    let name = "refused: bridge_recipient_controlled_on_destination";
    assert!(ended.stderr.starts_with(name), "{}", ended.stderr);
    let ended = unread().run_with(&["--now", crate::case::NOW, "--allow-unread-accounts"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
}
