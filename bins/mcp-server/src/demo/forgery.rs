//! Changed plans, and the verifier's refusals of them. Each change is made as an attacker would,
//! with or without a new digest.

use alloy_primitives::{Address, U256, hex, keccak256};
use alloy_sol_types::SolCall;
use calldata_checks::UtcSeconds;
use calldata_checks::swap::calldata::{
    FeeDistribution, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
};
use dev_chain::base;
use plan_builder::{Policy, Refusal, Request, Verified, verify};
use serde_json::{Value, json};

use super::Broken;
use super::plan::Plan;

/// The check that refuses a change without a new digest.
pub(super) const DIGEST: &str = "payload_digest_committed";
/// The check that refuses a payment to another account.
pub(super) const RECEIVER: &str = "agg_receiver_account_bound";
/// The account that the changes pay.
const ATTACKER: Address = Address::repeat_byte(0xba);

/// One way to change a plan.
pub(super) struct Forgery {
    /// The change in words.
    pub(super) what: &'static str,
    /// The check that refuses it.
    pub(super) check: &'static str,
    /// Whether the attacker computes a new digest.
    pub(super) resealed: bool,
    change: fn(&mut Value) -> Option<()>,
}

/// The changes of the transcript.
pub(super) const FORGERIES: &[Forgery] = &[
    Forgery {
        what: "output paid to another account",
        check: DIGEST,
        resealed: false,
        change: |plan| edit_call(plan, |call| call._receiver = ATTACKER),
    },
    Forgery {
        what: "output paid to another account",
        check: RECEIVER,
        resealed: true,
        change: |plan| edit_call(plan, |call| call._receiver = ATTACKER),
    },
    Forgery {
        what: "fee paid to another account",
        check: "agg_fee_recipient_exact",
        resealed: true,
        change: |plan| edit_fees(plan, |fee| fee.recipient = ATTACKER),
    },
    Forgery {
        what: "fee raised by one unit",
        check: "agg_fee_amount_exact",
        resealed: true,
        change: |plan| {
            edit_fees(plan, |fee| {
                fee.amount = fee.amount.saturating_add(U256::ONE)
            })
        },
    },
    Forgery {
        what: "a further leg that takes the account's WETH",
        check: "agg_fee_recipient_set_versioned",
        resealed: true,
        change: |plan| edit_call(plan, add_leg),
    },
    Forgery {
        what: "minimum output lowered to one unit",
        check: "agg_min_out_slippage_bound",
        resealed: true,
        change: |plan| edit_call(plan, |call| call._minAmountOut = U256::ONE),
    },
    Forgery {
        what: "allowance for another contract",
        check: "agg_targets_value_bound",
        resealed: true,
        change: |plan| {
            let data = plan.pointer_mut("/payload/steps/1/data")?;
            let router = hex::encode(base::ROUTER);
            *data = json!(data.as_str()?.replace(&router, &hex::encode(ATTACKER)));
            Some(())
        },
    },
    Forgery {
        what: "one byte more at the end of the calldata",
        check: "agg_targets_value_bound",
        resealed: true,
        change: |plan| {
            let data = plan.pointer_mut("/payload/steps/2/data")?;
            *data = json!(format!("{}00", data.as_str()?));
            Some(())
        },
    },
    Forgery {
        what: "valid for a year",
        check: "artifact_expiry_committed",
        resealed: true,
        change: |plan| {
            let time = plan.get_mut("valid_until")?;
            let (year, rest) = time.as_str()?.split_once('-')?;
            let next = year.parse::<u16>().ok()?.checked_add(1)?;
            *time = json!(format!("{next:04}-{rest}"));
            Some(())
        },
    },
    Forgery {
        what: "a disclosure turned round",
        check: "plan_rebuilt_exact",
        resealed: true,
        change: |plan| {
            *plan.pointer_mut("/replay_disclosure/tool_guarantees_single_execution")? = json!(true);
            Some(())
        },
    },
];

impl Forgery {
    /// The changed plan; `None` when the plan has another form.
    pub(super) fn of(&self, plan: &str) -> Option<String> {
        let mut plan: Value = serde_json::from_str(plan).ok()?;
        (self.change)(&mut plan)?;
        if self.resealed {
            let submission = plan.get_mut("submission")?.as_object_mut()?;
            submission.remove("payload_digest")?;
            let digest = keccak256(serde_json_canonicalizer::to_vec(&plan).ok()?);
            let submission = plan.get_mut("submission")?.as_object_mut()?;
            submission.insert("payload_digest".to_owned(), json!(digest));
        }
        Some(plan.to_string())
    }
}

/// The verifier, with its expectations.
#[derive(Clone, Copy)]
pub(super) struct Verifier<'a> {
    pub(super) request: &'a Request,
    pub(super) policy: &'a Policy,
    pub(super) now: UtcSeconds,
}

impl Verifier<'_> {
    pub(super) fn verify(&self, plan: &str) -> Result<Verified, Refusal> {
        verify(self.request, plan, self.now, self.policy)
    }
}

/// Changes each byte of the call in turn, and checks that the digest refuses each of these plans.
pub(super) fn try_every_byte<T>(
    plan: &Plan,
    verdict: impl Fn(&str) -> Result<T, Refusal>,
) -> Result<(), Broken> {
    const WHAT: &str = "a changed byte of the calldata";
    let data = plan
        .payload
        .steps
        .last()
        .map(|step| hex::encode(&step.data));
    let place = data.as_ref().and_then(|data| plan.text.find(data.as_str()));
    let (Some(data), Some(start)) = (data, place) else {
        return Err(Broken::new(
            3,
            WHAT,
            "calldata in lower-case hexadecimal",
            "another form",
        ));
    };
    for index in 0..data.len() / 2 {
        let at = start.saturating_add(index.saturating_mul(2));
        let next = at.saturating_add(1);
        let other = if plan.text.get(at..next) == Some("0") {
            "1"
        } else {
            "0"
        };
        let mut changed = plan.text.clone();
        changed.replace_range(at..next, other);
        let found = verdict(&changed).err().map(|refusal| refusal.check);
        if found.as_deref() != Some(DIGEST) {
            let observed = found.unwrap_or("accepted".into());
            return Err(Broken::new(
                3,
                WHAT,
                DIGEST,
                format_args!("byte {index}: {observed}"),
            ));
        }
    }
    Ok(())
}

/// Checks that the refusal of a plan has this name.
pub(super) fn refused_by(
    step: u8,
    what: &'static str,
    check: &str,
    verdict: Result<Verified, Refusal>,
) -> Result<Refusal, Broken> {
    match verdict {
        Err(refusal) if refusal.check == check => Ok(refusal),
        Err(refusal) => Err(Broken::new(
            step,
            what,
            format_args!("refused by {check}"),
            refusal,
        )),
        Ok(_) => Err(Broken::new(
            step,
            what,
            format_args!("refused by {check}"),
            "accepted",
        )),
    }
}

fn edit_call(
    plan: &mut Value,
    change: impl FnOnce(&mut swapTokensMultipleV3ERC20ToERC20Call),
) -> Option<()> {
    let data = plan.pointer_mut("/payload/steps/2/data")?;
    let bytes = hex::decode(data.as_str()?).ok()?;
    let mut call = swapTokensMultipleV3ERC20ToERC20Call::abi_decode(&bytes).ok()?;
    change(&mut call);
    *data = json!(hex::encode_prefixed(call.abi_encode()));
    Some(())
}

/// Changes the last recipient of the fee leg: the service itself.
fn edit_fees(plan: &mut Value, change: fn(&mut FeeDistribution)) -> Option<()> {
    edit_call(plan, |call| {
        if let Some(leg) = call._swapData.first_mut()
            && let Ok(mut fees) = forwardERC20FeesCall::abi_decode(&leg.callData)
        {
            fees._distributions
                .iter_mut()
                .rev()
                .take(1)
                .for_each(change);
            leg.callData = fees.abi_encode().into();
        }
    })
}

/// Adds a leg. A leg can deposit any token that the account ever approved to the router.
fn add_leg(call: &mut swapTokensMultipleV3ERC20ToERC20Call) {
    let Some(mut leg) = call._swapData.first().cloned() else {
        return;
    };
    let amount = U256::from(1_000_000_000_000_000_000_u64);
    let fees = forwardERC20FeesCall {
        _token: base::WETH,
        _distributions: vec![FeeDistribution {
            recipient: ATTACKER,
            amount,
        }],
    };
    leg.sendingAssetId = base::WETH;
    leg.receivingAssetId = base::WETH;
    leg.fromAmount = amount;
    leg.callData = fees.abi_encode().into();
    call._swapData.insert(1, leg);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::plan::tests::{sample, verifier};

    #[test]
    fn every_forgery_is_refused_by_its_name() {
        let (plan, request, policy) = sample();
        let verifier = verifier(&request, &policy);
        assert!(verifier.verify(&plan.text).is_ok());
        for forgery in FORGERIES {
            let forged = forgery.of(&plan.text).unwrap();
            assert_ne!(forged, plan.text);
            let verdict = verifier.verify(&forged);
            assert!(refused_by(3, forgery.what, forgery.check, verdict).is_ok());
        }
    }

    #[test]
    fn another_name_and_no_refusal_are_failures() {
        let (plan, request, policy) = sample();
        let verifier = verifier(&request, &policy);
        let [first, second, ..] = FORGERIES else {
            panic!("two forgeries")
        };
        let forged = first.of(&plan.text).unwrap();
        let broken = refused_by(3, "x", second.check, verifier.verify(&forged)).unwrap_err();
        assert_eq!((broken.step, broken.what), (3, "x"));
        assert!(broken.observed.starts_with(DIGEST), "{broken}");
        let broken = refused_by(3, "x", DIGEST, verifier.verify(&plan.text)).unwrap_err();
        assert_eq!(broken.observed, "accepted");
    }

    #[test]
    fn one_byte_that_is_accepted_is_a_failure() {
        let (plan, _, _) = sample();
        let digest = || Refusal::new(DIGEST, "changed");
        let seen = std::cell::Cell::new(0);
        let after = |last: usize, then: fn() -> Result<(), Refusal>| {
            seen.set(0);
            try_every_byte(&plan, |changed| {
                assert_ne!(changed, plan.text);
                seen.set(seen.get() + 1);
                if seen.get() > last {
                    then()
                } else {
                    Err(digest())
                }
            })
        };
        let all = plan.payload.steps[2].data.len();
        assert_eq!(after(all, || Ok(())), Ok(()));
        assert_eq!(seen.get(), all);
        let broken = after(all - 1, || Ok(())).unwrap_err();
        assert!(broken.observed.ends_with("accepted"), "{broken}");
        let broken = after(7, || Err(Refusal::new("plan_malformed", ""))).unwrap_err();
        assert_eq!(broken.observed, "byte 7: plan_malformed");
    }
}
