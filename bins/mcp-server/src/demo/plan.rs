//! The parts of a returned plan that the demo's agent reads. It trusts nothing in them: the
//! verifier judges the plan itself.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::swap::calldata::swapTokensMultipleV3ERC20ToERC20Call;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, json};

use super::{Broken, units};

sol! {
    /// ERC-20.
    function approve(address spender, uint256 value) external returns (bool);
}

/// The members of an envelope that the transcript shows.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Plan {
    pub(super) account_binding: Binding,
    pub(super) assertions: Vec<Assertion>,
    pub(super) fee_attribution: Fees,
    pub(super) intent_digest: B256,
    #[serde(default)]
    pub(super) judgements: Vec<Judgement>,
    pub(super) payload: Payload,
    pub(super) simulation: Option<Simulation>,
    pub(super) submission: Submission,
    pub(super) valid_until: String,
    /// The plan's text, byte for byte.
    #[serde(skip)]
    pub(super) text: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Binding {
    pub(super) address: Address,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Assertion {
    pub(super) name: String,
    pub(super) observed: String,
    pub(super) result: String,
}

/// What the server judged by prices of that moment.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Judgement {
    pub(super) name: String,
    pub(super) observed: String,
    pub(super) result: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Fees {
    pub(super) recipients: Vec<Recipient>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Recipient {
    pub(super) address: Address,
    #[serde(deserialize_with = "digits")]
    pub(super) amount: U256,
    pub(super) bps: u16,
    pub(super) role: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Payload {
    pub(super) quote: Quote,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Quote {
    #[serde(deserialize_with = "digits")]
    pub(super) from_amount: U256,
    #[serde(deserialize_with = "digits")]
    pub(super) to_amount: U256,
    #[serde(deserialize_with = "digits")]
    pub(super) to_amount_min: U256,
    pub(super) source: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Step {
    pub(super) data: Bytes,
    pub(super) kind: String,
    pub(super) to: Address,
    #[serde(deserialize_with = "digits")]
    pub(super) value: U256,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Simulation {
    #[serde(default)]
    pub(super) balance_changes: Vec<Change>,
    #[serde(default)]
    pub(super) gas_used: Vec<u64>,
    pub(super) outcome: String,
}

/// A change of a balance in a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Change {
    #[serde(deserialize_with = "digits")]
    pub(super) amount: U256,
    pub(super) direction: String,
    pub(super) token: Address,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Submission {
    pub(super) payload_digest: B256,
}

impl Plan {
    /// Reads the plan of a tool's result, which holds it twice: as text and as structured content.
    pub(super) fn of_result(result: &Value) -> Result<Self, Broken> {
        let broken =
            |expected: &str, observed: &str| Broken::new(1, "the result", expected, observed);
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        let structured = result.get("structuredContent");
        let (Some(text), Some(structured)) = (text, structured) else {
            return Err(broken("text and structuredContent", &result.to_string()));
        };
        if result.get("isError") != Some(&Value::Bool(false)) {
            return Err(broken("a plan", text));
        }
        if serde_json::from_str(text).ok().as_ref() != Some(structured) {
            return Err(broken("the same plan twice", "two plans"));
        }
        let plan = serde_json::from_str::<Self>(text);
        let plan = plan.map_err(|error| broken("a swap plan", &error.to_string()))?;
        Ok(Self {
            text: text.to_owned(),
            ..plan
        })
    }

    /// Checks that every assertion is present and holds, and that the server could judge what the
    /// swap is worth.
    pub(super) fn judge(&self, account: Address) -> Result<(), Broken> {
        Broken::unless_equal(
            1,
            "the bound account",
            &account,
            &self.account_binding.address,
        )?;
        Broken::unless_equal(1, "the number of assertions", &12, &self.assertions.len())?;
        let judged = self.judgements.iter();
        let judged = judged.map(|judged| format!("{} {}", judged.name, judged.result));
        Broken::unless_equal(
            1,
            "what the swap is worth",
            &"agg_output_price_bound holds".to_owned(),
            &judged.collect::<Vec<_>>().join(", "),
        )?;
        let kinds: Vec<_> = self
            .payload
            .steps
            .iter()
            .map(|step| step.kind.as_str())
            .collect();
        Broken::unless_equal(
            1,
            "the steps",
            &"approve_reset, approve, call".to_owned(),
            &kinds.join(", "),
        )?;
        match self
            .assertions
            .iter()
            .find(|assertion| assertion.result != "pass")
        {
            Some(assertion) => Err(Broken::new(1, "an assertion", "pass", &assertion.name)),
            None => Ok(()),
        }
    }
}

impl Step {
    /// The step as a transaction of an account of the embedded chain.
    pub(super) fn transaction(&self, from: Address) -> Value {
        json!({"from": from, "to": self.to, "value": self.value, "data": self.data})
    }

    /// Describes the step in words.
    pub(super) fn words(&self) -> String {
        if let Ok(call) = approveCall::abi_decode(&self.data) {
            return format!(
                "approve {} for {}",
                units::name(call.spender),
                units::usdc(call.value)
            );
        }
        let name = if self
            .data
            .starts_with(&swapTokensMultipleV3ERC20ToERC20Call::SELECTOR)
        {
            "swapTokensMultipleV3ERC20ToERC20"
        } else {
            "an unknown function"
        };
        format!("{name}, {} bytes, value {}", self.data.len(), self.value)
    }
}

fn digits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
    let text = String::deserialize(deserializer)?;
    U256::from_str_radix(&text, 10).map_err(|_| D::Error::custom("not digits"))
}

#[cfg(test)]
pub(super) mod tests {
    use calldata_checks::Rail;
    use plan_builder::{FeeDocument, Policy, Request};

    use super::*;
    use crate::demo::forgery::Verifier;

    const PLAN: &str = include_str!("../../../../fixtures/vectors/plans/swap.plan.json");
    const REQUEST: &str = include_str!("../../../../fixtures/vectors/plans/swap.request.json");
    const FEES: &str = include_str!("../../../../fixtures/vectors/plans/fees.toml");

    /// A recorded plan with the request and the policy that verify it.
    pub(in crate::demo) fn sample() -> (Plan, Request, Policy) {
        let document: FeeDocument = toml::from_str(FEES).unwrap();
        let request = Request::parse(Rail::Swap, REQUEST).unwrap();
        let plan = Plan::of_result(&result(PLAN.trim_end())).unwrap();
        (plan, request, Policy::new(document.review().unwrap()))
    }

    pub(in crate::demo) fn verifier<'a>(request: &'a Request, policy: &'a Policy) -> Verifier<'a> {
        Verifier {
            request,
            policy,
            now: "2026-09-21T14:13:30Z".parse().unwrap(),
        }
    }

    fn result(text: &str) -> Value {
        let structured: Value = serde_json::from_str(text).unwrap();
        json!({"isError": false, "content": [{"text": text}], "structuredContent": structured})
    }

    #[test]
    fn a_result_holds_one_plan_twice() {
        let edits: [fn(&mut Value); 5] = [
            |result| result["isError"] = json!(true),
            |result| drop(result.as_object_mut().unwrap().remove("isError")),
            |result| result["structuredContent"]["valid_until"] = json!("2026-09-21T14:18:21Z"),
            |result| result["content"] = json!([]),
            |result| {
                result["content"][0]["text"] = json!("{}");
                result["structuredContent"] = json!({});
            },
        ];
        for edit in edits {
            let mut edited = result(PLAN);
            edit(&mut edited);
            let broken = Plan::of_result(&edited).unwrap_err();
            assert_eq!((broken.step, broken.what), (1, "the result"));
        }
    }

    #[test]
    fn a_plan_that_does_not_hold_is_a_failure() {
        let (plan, _, _) = sample();
        let account = plan.account_binding.address;
        assert_eq!(plan.judge(account), Ok(()));
        let check = |what: &str, edit: fn(&mut Plan)| {
            let mut edited = plan.clone();
            edit(&mut edited);
            assert_eq!(edited.judge(account).unwrap_err().what, what);
        };
        check("the bound account", |plan| {
            plan.account_binding.address = Address::ZERO
        });
        check("the number of assertions", |plan| {
            drop(plan.assertions.pop())
        });
        check("what the swap is worth", |plan| {
            plan.judgements[0].result = "unknown".to_owned()
        });
        check("what the swap is worth", |plan| drop(plan.judgements.pop()));
        check("an assertion", |plan| {
            plan.assertions[7].result = "fail".to_owned()
        });
        check("the steps", |plan| plan.payload.steps.swap(0, 1));
        check("the steps", |plan| drop(plan.payload.steps.pop()));
    }

    #[test]
    fn steps_are_described_in_words() {
        let (mut plan, _, _) = sample();
        let words = |plan: &Plan| {
            plan.payload
                .steps
                .iter()
                .map(Step::words)
                .collect::<Vec<_>>()
        };
        let told = words(&plan);
        assert_eq!(
            told[..2],
            ["approve router for 0 USDC", "approve router for 1000 USDC"]
        );
        assert!(
            told[2].starts_with("swapTokensMultipleV3ERC20ToERC20, "),
            "{told:?}"
        );
        plan.payload.steps[2].data = Bytes::new();
        assert_eq!(words(&plan)[2], "an unknown function, 0 bytes, value 0");
    }
}
