//! A bridge plan that passes, for the tests to break.

use alloy_primitives::{Address, U256, address};
use calldata_checks::{
    CheckReport, Commitment, DigestStanding, Failure, Step, UtcSeconds,
    bridge::{
        AccountKind, Asked, BridgeFacts, Context, TransferSpeed,
        account::{AccountCode, DestinationControl},
        calldata::Burn,
        fees::RouteFees,
    },
    fees::BridgeCaps,
    judge,
};

pub(crate) const ACCOUNT: Address = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");
pub(crate) const FOREIGN: Address = address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC");

/// A plan before it is judged: the request, the readings and the steps.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) context: Context,
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    /// Makes the plan that follows from a request. Where no fee can be computed, the burn carries
    /// none.
    pub(crate) fn of(asked: Asked) -> Self {
        let context = Context {
            asked,
            fees: fees(),
            fast_allowance: Some(U256::from(52_455_615_650_179u64)),
            control: DestinationControl::Eoa {
                source_code: Some(AccountCode::Empty),
            },
            caps: BridgeCaps::DEFAULT,
            allow_unread_accounts: false,
            chain_id: asked.source_chain_id,
            commitment: Commitment {
                valid_until: UtcSeconds::from_unix(1_800_000_300),
                now: UtcSeconds::from_unix(1_800_000_000),
                digest: DigestStanding::Sealing,
            },
        };
        let mut plan = Self {
            context,
            steps: Vec::new(),
        };
        plan.rebuild();
        plan
    }

    /// 1234.56789 USDC from Base to Arbitrum, fast.
    pub(crate) fn fast() -> Self {
        Self::of(asked())
    }

    /// The same at standard speed.
    pub(crate) fn standard() -> Self {
        Self::of(Asked {
            speed: TransferSpeed::Standard,
            ..asked()
        })
    }

    /// Makes the steps again, after a change of the request or the readings.
    pub(crate) fn rebuild(&mut self) {
        let max_fee = self.context.asked.max_fee_from(&self.context.fees);
        let burn = self.context.asked.burn(max_fee.unwrap_or_default());
        self.steps = burn.map(|burn| burn.steps().to_vec()).unwrap_or_default();
    }

    /// Returns the plan with another burn in its call, and no other change.
    pub(crate) fn with_burn(mut self, change: impl FnOnce(&mut Burn)) -> Self {
        let mut burn = Burn::decode(&self.steps[2].data).unwrap();
        change(&mut burn);
        self.steps[2].data = burn.encode();
        self
    }

    /// Returns the plan of a changed request, built anew.
    pub(crate) fn asking(mut self, change: impl FnOnce(&mut Asked)) -> Self {
        change(&mut self.context.asked);
        self.rebuild();
        self
    }

    /// Returns the plan of changed readings, built anew.
    pub(crate) fn reading(mut self, change: impl FnOnce(&mut Context)) -> Self {
        change(&mut self.context);
        self.rebuild();
        self
    }

    /// Returns the plan with other steps.
    pub(crate) fn stepping(mut self, change: impl FnOnce(&mut Vec<Step>)) -> Self {
        change(&mut self.steps);
        self
    }

    pub(crate) fn facts(&self) -> Result<BridgeFacts, Failure> {
        BridgeFacts::decode(self.context.clone(), &self.steps)
    }

    pub(crate) fn judge(&self) -> Result<CheckReport, Failure> {
        judge(&self.facts()?)
    }

    /// Returns the name of the check that refuses the plan, and its message.
    pub(crate) fn refusal(&self) -> (&'static str, String) {
        let failure = self.judge().expect_err("the plan is refused");
        (failure.check, failure.violation.message.into_owned())
    }
}

/// Requires that this check refuses the plan, for this reason.
#[track_caller]
pub(crate) fn refused(plan: &Plan, check: &str, part_of_message: &str) {
    let (name, message) = plan.refusal();
    assert_eq!(name, check, "{message}");
    assert!(message.contains(part_of_message), "{message}");
}

pub(crate) fn asked() -> Asked {
    Asked {
        account: ACCOUNT,
        account_kind: AccountKind::Eoa,
        account_chain_id: 8453,
        source_chain_id: 8453,
        destination_chain_id: 42161,
        token: address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
        amount: U256::from(1_234_567_890u64),
        speed: TransferSpeed::Fast,
        max_fee: None,
        min_amount_out: None,
        forward: false,
    }
}

pub(crate) fn fees() -> RouteFees {
    RouteFees {
        fast_bps: Some("1.3".parse().unwrap()),
        standard_bps: "0".parse().unwrap(),
        forward_fee: Some(U256::from(250_000)),
        chain_min_fee: None,
    }
}
