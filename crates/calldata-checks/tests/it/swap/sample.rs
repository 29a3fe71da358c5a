//! A quote as the aggregator composes it, whose every part a test can change.

use alloy_primitives::{Address, B256, Bytes, Selector, U256, address};
use alloy_sol_types::SolCall as _;
use calldata_checks::{
    BasisPoints, CheckReport, Commitment, DigestStanding, Failure, FeePolicy, Step, StepKind,
    UtcSeconds,
    fees::{BridgeCaps, FeeModel, FeeRecipient, ReviewedChain, ReviewedLeg, Rounding},
    judge, step,
    swap::{
        self, SwapAsked, SwapFacts, SwapQuoted,
        calldata::{
            FeeDistribution, SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
        },
    },
};

pub(crate) const BASE: u64 = 8453;
pub(crate) const NOW: u64 = 1_795_000_000;
pub(crate) const GROSS: u64 = 1_000_000_007;
pub(crate) const ROUTER: Address = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
pub(crate) const FORWARDER: Address = address!("CE40449B773a3E6E5e769ADb4e567179d4828cbd");
pub(crate) const FORWARDER_V1: Address = address!("685527c551Cc40ce1f1C9818cD8683307076E4eD");
pub(crate) const FEE_COLLECTOR: Address = address!("0A6d96E7f4D7b96CFE42185DF61E64d255c12DFf");
pub(crate) const AGGREGATOR: Address = address!("C06ebbefD94032B85424D51906e2A335EFAe264B");
pub(crate) const OWN: Address = address!("00000000000000000000000000000000000fee01");
pub(crate) const ACCOUNT: Address = address!("00000000000000000000000000000000000acc01");
pub(crate) const STRANGER: Address = address!("000000000000000000000000000000000badbad1");
pub(crate) const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
pub(crate) const WETH: Address = address!("4200000000000000000000000000000000000006");
pub(crate) const DAI: Address = address!("50c5725949A6F0c72E6C4a641F24049A917DB0Cb");
pub(crate) const SUSHI: Address = address!("AC4c6e212A361c968F1725b4d055b47E63F80b75");
pub(crate) const KYBER: Address = address!("6131B5fae19EA4f9D964eAc0408E4408b66337b5");
pub(crate) const SNWAP: [u8; 4] = [0x5f, 0x3b, 0xd1, 0xc8];

pub(crate) struct Sample {
    pub(crate) asked: SwapAsked,
    pub(crate) quoted: SwapQuoted,
    pub(crate) plan_chain_id: u64,
    pub(crate) policy: FeePolicy,
    pub(crate) commitment: Commitment,
    pub(crate) call: swapTokensMultipleV3ERC20ToERC20Call,
    pub(crate) fees: forwardERC20FeesCall,
    /// Changes the fee leg's bytes after they were encoded.
    pub(crate) edit_fees: fn(&mut Vec<u8>),
    /// Changes the call's bytes after they were encoded.
    pub(crate) edit_call: fn(&mut Vec<u8>),
    /// Changes the steps after they were made.
    pub(crate) edit_steps: fn(&mut Vec<Step>),
}

impl Sample {
    /// 1,000.000007 USDC to WETH on Base: 30 basis points for the service, 25 for the aggregator.
    pub(crate) fn new() -> Self {
        let gross = U256::from(GROSS);
        let fees = forwardERC20FeesCall {
            _token: USDC,
            _distributions: vec![part(AGGREGATOR, 2_500_000), part(OWN, 3_000_000)],
        };
        let fee_leg = SwapData {
            callTo: FORWARDER,
            approveTo: FORWARDER,
            sendingAssetId: USDC,
            receivingAssetId: USDC,
            fromAmount: gross,
            callData: Bytes::new(),
            requiresDeposit: true,
        };
        let call = swapTokensMultipleV3ERC20ToERC20Call {
            _transactionId: B256::repeat_byte(0x7a),
            _integrator: "svc".to_owned(),
            _referrer: "0x0000000000000000000000000000000000000000".to_owned(),
            _receiver: ACCOUNT,
            _minAmountOut: U256::from(298_500_000_000_000_000u64),
            _swapData: vec![fee_leg, leg(USDC, WETH, GROSS - 5_500_000)],
        };
        Self {
            asked: SwapAsked {
                account: ACCOUNT,
                account_chain_id: BASE,
                chain_id: BASE,
                from_token: USDC,
                to_token: WETH,
                from_amount: gross,
                max_slippage: BasisPoints::new(50).unwrap(),
                min_amount_out: None,
            },
            quoted: SwapQuoted {
                integrator: "svc".to_owned(),
                from_chain_id: BASE,
                to_chain_id: BASE,
                from_token: USDC,
                to_token: WETH,
                from_amount: gross,
                sender: ACCOUNT,
                receiver: ACCOUNT,
                to_amount: U256::from(300_000_000_000_000_000u64),
                to_amount_min: U256::from(298_500_000_000_000_000u64),
                approval_address: ROUTER,
                call_to: ROUTER,
                call_from: Some(ACCOUNT),
                call_chain_id: BASE,
                call_value: U256::ZERO,
                from_usd: None,
                to_usd: None,
                read_at: UtcSeconds::from_unix(NOW),
            },
            plan_chain_id: BASE,
            policy: policy(),
            commitment: Commitment {
                valid_until: UtcSeconds::from_unix(NOW + 300),
                now: UtcSeconds::from_unix(NOW),
                digest: DigestStanding::Sealing,
            },
            call,
            fees,
            edit_fees: |_| {},
            edit_call: |_| {},
            edit_steps: |_| {},
        }
    }

    pub(crate) fn call_bytes(&self) -> Vec<u8> {
        let mut fees = self.fees.abi_encode();
        (self.edit_fees)(&mut fees);
        let mut call = self.call.clone();
        if let Some(leg) = call._swapData.first_mut()
            && leg.callData.is_empty()
        {
            leg.callData = fees.into();
        }
        let mut bytes = call.abi_encode();
        (self.edit_call)(&mut bytes);
        bytes
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        let amount = self.asked.from_amount;
        let token = self.asked.from_token;
        let mut steps = vec![
            step::approval(StepKind::ApproveReset, token, ROUTER, U256::ZERO),
            step::approval(StepKind::Approve, token, ROUTER, amount),
            Step {
                kind: StepKind::Call,
                to: ROUTER,
                value: U256::ZERO,
                data: self.call_bytes().into(),
            },
        ];
        (self.edit_steps)(&mut steps);
        steps
    }

    pub(crate) fn decode(&self, steps: &[Step]) -> Result<SwapFacts, Failure> {
        swap::decode(
            self.asked,
            self.quoted.clone(),
            self.plan_chain_id,
            steps,
            &self.policy,
            self.commitment,
        )
    }

    pub(crate) fn judge(&self) -> Result<CheckReport, Failure> {
        self.decode(&self.steps()).and_then(|facts| judge(&facts))
    }

    /// A route over DAI, with a leg from one exchange to the other.
    pub(crate) fn two_exchanges() -> Self {
        let mut sample = Self::new();
        let mut second = leg(DAI, WETH, 990);
        second.callTo = KYBER;
        second.approveTo = KYBER;
        second.callData = [0xe2, 0x1f, 0xd0, 0xe9, 1].into();
        sample.call._swapData[1].receivingAssetId = DAI;
        sample.call._swapData.push(second);
        sample
    }

    /// Sets another input, with its fees and its exchanged amount.
    pub(crate) fn scale(&mut self, gross: U256) {
        let share = |bps: u64| gross.saturating_mul(U256::from(bps)) / U256::from(10_000);
        let (aggregator, own) = (share(25), share(30));
        self.asked.from_amount = gross;
        self.quoted.from_amount = gross;
        self.fees._distributions[0].amount = aggregator;
        self.fees._distributions[1].amount = own;
        self.call._swapData[0].fromAmount = gross;
        self.call._swapData[1].fromAmount = gross - aggregator - own;
    }
}

/// A fee configuration that charges nothing and has reviewed no chain.
pub(crate) fn free() -> FeePolicy {
    FeePolicy {
        version: "2026-11-01".to_owned(),
        fee_model: FeeModel::ForwarderV2,
        integrator: "svc".to_owned(),
        aggregate_cap: BasisPoints::new(60).unwrap(),
        rounding: Rounding::Floor,
        recipients: Vec::new(),
        chains: Vec::new(),
        deny_tools: Vec::new(),
        pm_builder_code: B256::ZERO,
        pm_max_builder_fee: FeePolicy::PM_MAX_BUILDER_FEE,
        perp_builder: None,
        perp_max_trigger_slippage: BasisPoints::new(1000).unwrap(),
        perp_price_band: FeePolicy::PERP_PRICE_BAND,
        perp_assets: Vec::new(),
        bridge_caps: BridgeCaps::DEFAULT,
    }
}

pub(crate) fn policy() -> FeePolicy {
    let recipient = |role: &str, address, bps| FeeRecipient {
        role: role.to_owned(),
        address,
        bps: BasisPoints::new(bps).unwrap(),
    };
    let leg =
        |contract, selector: [u8; 4]| ReviewedLeg::new(contract, vec![Selector::from(selector)]);
    FeePolicy {
        recipients: vec![
            recipient("own", OWN, 30),
            recipient("aggregator", AGGREGATOR, 25),
        ],
        chains: vec![ReviewedChain {
            chain_id: BASE,
            router: ROUTER,
            forwarder: FORWARDER,
            selectors: vec![Selector::from([0x5f, 0xd9, 0xae, 0x2e])],
            legs: vec![leg(SUSHI, SNWAP), leg(KYBER, [0xe2, 0x1f, 0xd0, 0xe9])],
        }],
        ..free()
    }
}

pub(crate) fn part(recipient: Address, amount: u64) -> FeeDistribution {
    FeeDistribution {
        recipient,
        amount: U256::from(amount),
    }
}

/// Makes an exchange leg with opaque bytes behind its selector.
pub(crate) fn leg(sending: Address, receiving: Address, amount: u64) -> SwapData {
    SwapData {
        callTo: SUSHI,
        approveTo: SUSHI,
        sendingAssetId: sending,
        receivingAssetId: receiving,
        fromAmount: U256::from(amount),
        callData: [&SNWAP[..], &[0xab; 77]].concat().into(),
        requiresDeposit: false,
    }
}

/// Declares attacks: the check that refuses, its message, and the change. Without the change the
/// sample passes.
macro_rules! attacks {
    ($($name:ident: $check:literal, $message:literal => |$sample:ident| $change:expr;)+) => {$(
        #[test]
        fn $name() {
            let mut sample = $crate::swap::sample::Sample::new();
            let $sample = &mut sample;
            $change;
            let failure = sample.judge().expect_err("the attack passes");
            assert_eq!((failure.check, failure.violation.message.as_ref()), ($check, $message));
        }
    )+};
}
pub(crate) use attacks;
