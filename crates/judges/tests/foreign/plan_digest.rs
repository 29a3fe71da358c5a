//! `docs/plan_digest.py` recomputes the digests of plans of every rail, with only Python's standard
//! library.

use std::path::Path;

use judges::{JudgeError, Toolchain, run};
use serde_json::{Value, json};

use crate::rails::bridge::bridges;
use crate::rails::swap::swaps;
use crate::rails::{Case, Plan, perp_order, pm_order, sample};

fn plans() -> Vec<Plan> {
    let mut plans: Vec<Plan> = sample(3, swaps()).iter().map(Case::plan).collect();
    plans.extend(sample(3, bridges()).iter().map(Case::plan));
    plans.extend(sample(3, pm_order::orders(1_000)).iter().map(Case::plan));
    plans.extend(sample(3, perp_order::orders()).iter().map(Case::plan));
    plans
}

async fn recompute(toolchain: &Toolchain, plan: &str) -> Result<String, JudgeError> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan_digest.py");
    let mut command = toolchain.python_agent_interpreter();
    command.arg(script);
    run(command, plan.as_bytes()).await
}

#[tokio::test]
async fn plans_of_every_rail_have_the_digest_that_they_claim() {
    let toolchain = Toolchain::from_env().unwrap();
    for plan in plans() {
        let claimed = plan.json["submission"]["payload_digest"].as_str().unwrap();
        let digest = recompute(&toolchain, &plan.text).await.unwrap();
        assert_eq!(digest.trim_end(), claimed);
        // The digest does not depend on whitespace or the order of members.
        let pretty = serde_json::to_string_pretty(&plan.json).unwrap();
        let digest = recompute(&toolchain, &pretty).await.unwrap();
        assert_eq!(digest.trim_end(), claimed);
    }
}

#[tokio::test]
async fn tampered_plans_have_another_digest() {
    let toolchain = Toolchain::from_env().unwrap();
    for plan in plans() {
        for (pointer, value) in [
            ("/valid_until", json!("2027-01-01T00:00:00Z")),
            (
                "/account_binding/address",
                json!("0x0000000000000000000000000000000000000001"),
            ),
            ("/assertions/0/observed", json!("another observation")),
            (
                "/replay_disclosure/tool_guarantees_single_execution",
                json!(true),
            ),
            (
                "/submission/payload_digest",
                json!(format!("0x{}", "0".repeat(64))),
            ),
            ("/payload/steps", json!([{}])),
        ] {
            let mut tampered: Value = plan.json.clone();
            let member = tampered.pointer_mut(pointer).expect(pointer);
            assert_ne!(*member, value, "{pointer}");
            *member = value;
            match recompute(&toolchain, &tampered.to_string()).await {
                Err(JudgeError::Ended { status, log, .. }) => {
                    assert_eq!(status, "exit status: 1", "{log}");
                    assert!(log.contains(" is not 0x"), "{log}");
                }
                other => panic!("{pointer}: {other:?}"),
            }
        }
    }
}

/// When a plan has a member twice, a reader might use one value and a signer the other.
#[tokio::test]
async fn a_plan_with_a_repeated_member_is_refused() {
    let toolchain = Toolchain::from_env().unwrap();
    for plan in plans() {
        let valid_until = format!(r#""valid_until":{}"#, plan.json["valid_until"]);
        let doubled = plan
            .text
            .replacen(&valid_until, &format!("{valid_until},{valid_until}"), 1);
        assert_ne!(doubled, plan.text);
        match recompute(&toolchain, &doubled).await {
            Err(JudgeError::Ended { status, log, .. }) => {
                assert_eq!(status, "exit status: 1", "{log}");
                assert!(log.contains("a member stands twice"), "{log}");
            }
            other => panic!("{other:?}"),
        }
    }
}
