//! The arguments of `prepare_swap`.

use alloy_primitives::{Address, U256};
use calldata_checks::{
    BasisPoints,
    swap::{SwapAsked, checks},
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    AccountProfile, ExportSet, Refusal,
    arguments::{Argument, Object, Outcome, Property, Reader},
    edit::{Editable, json},
    profile::{PROFILE, read_arguments, refuse_safe_batch},
    wire::Digits,
};

/// The addresses that aggregators use for a chain's native coin.
const NATIVE: [&str; 2] = [
    "0x0000000000000000000000000000000000000000",
    "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
];

static CHAIN_ID: Argument<u64> =
    Argument::integer("chainId", "the chain of the swap", 1, u64::MAX >> 11);
static FROM_TOKEN: Argument<Address> =
    Argument::address("fromToken", "input token, an ERC-20; never the native coin");
static TO_TOKEN: Argument<Address> = Argument::address(
    "toToken",
    "output token, another ERC-20; never the native coin",
);
static FROM_AMOUNT: Argument<U256> = Argument::amount(
    "fromAmount",
    "gross input in the input token's smallest unit, fees included",
);
static MAX_BPS: Argument<u64> = Argument::integer(
    "maxBps",
    "the most that the output may fall below the quoted one, in basis points; at most half of it",
    0,
    5000,
);
static SLIPPAGE: Object = Object {
    name: "slippage",
    description: "how far the output may fall below the quoted one",
    properties: &[Property::required(&MAX_BPS)],
};
static MIN_AMOUNT_OUT: Argument<U256> = Argument::amount_or_integer(
    "minAmountOut",
    "the least output that is accepted, in the output token's smallest unit; refused if the quote guarantees less",
);
static MAX_PRICE_IMPACT_BPS: Argument<u64> = Argument::integer(
    "maxPriceImpactBps",
    "the most that the swap may lose at present prices, in basis points; without it the operator's limit, which it tightens, or loosens up to the operator's ceiling",
    0,
    10_000,
);
static EXPORTS: Argument<Vec<&'static str>> = Argument::choices(
    "exports",
    "also give the steps in these forms: wallet_sendCalls (EIP-5792), a Safe Transaction Builder batch",
    ExportSet::WORDS,
);

/// The declarations of the arguments.
pub(crate) const PROPERTIES: &[Property] = &[
    Property::required_object(&PROFILE),
    Property::required(&CHAIN_ID),
    Property::required(&FROM_TOKEN),
    Property::required(&TO_TOKEN),
    Property::required(&FROM_AMOUNT),
    Property::required_object(&SLIPPAGE),
    Property::optional(&MIN_AMOUNT_OUT),
    Property::optional(&MAX_PRICE_IMPACT_BPS),
    Property::optional(&EXPORTS),
];

/// A request for a swap, in normal form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SwapRequest {
    /// The caller's account, which sends the input and receives the output.
    pub(super) account_profile: AccountProfile,
    /// The chain of the swap.
    pub(super) chain_id: u64,
    /// The further forms in which the plan gives its steps.
    #[serde(
        skip_serializing_if = "nothing_chosen",
        serialize_with = "export_words"
    )]
    pub(super) exports: ExportSet,
    /// The gross input, in the input token's smallest unit.
    pub(super) from_amount: Digits,
    /// The input token.
    pub(super) from_token: Address,
    /// The most that the swap may lose at present prices.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "optional_bps_number"
    )]
    pub(super) max_price_impact_bps: Option<BasisPoints>,
    /// The least output that is accepted, in the output token's smallest unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_amount_out: Option<Digits>,
    /// How far the output may fall.
    pub(super) slippage: Slippage,
    /// The output token.
    pub(super) to_token: Address,
}

/// The most that the output may fall below the quoted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Slippage {
    /// In basis points.
    #[serde(serialize_with = "bps_number")]
    pub(super) max_bps: BasisPoints,
}

impl SwapRequest {
    /// Creates a swap of `from_amount` (gross, in the input token's smallest unit) on the account's
    /// own chain. Its output may fall `max_slippage` below the quoted one.
    ///
    /// ```
    /// use alloy_primitives::{U256, address};
    /// use calldata_checks::BasisPoints;
    /// use plan_builder::{AccountProfile, swap::SwapRequest};
    ///
    /// let holder = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// let account = AccountProfile::eoa(holder, 8453);
    /// let usdc = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
    /// let weth = address!("4200000000000000000000000000000000000006");
    /// let slippage = BasisPoints::new(50).ok_or("more than the whole")?;
    /// let request = SwapRequest::new(account, usdc, weth, U256::from(1_000_000), slippage)?
    ///     .with_min_amount_out(U256::from(300_000_000_000_000_u64))?;
    /// assert_eq!(request.asked().from_token, usdc);
    ///
    /// let refused = SwapRequest::new(account, usdc, usdc, U256::from(1), slippage).unwrap_err();
    /// assert_eq!(refused.check, "input_invalid");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn new(
        account: AccountProfile,
        from_token: Address,
        to_token: Address,
        from_amount: U256,
        max_slippage: BasisPoints,
    ) -> Result<Self, Refusal> {
        let slippage = Slippage {
            max_bps: max_slippage,
        };
        Self::of([
            (PROFILE.name, json(&account)?),
            (CHAIN_ID.name, json(&account.chain_id)?),
            (FROM_TOKEN.name, json(&from_token)?),
            (TO_TOKEN.name, json(&to_token)?),
            (FROM_AMOUNT.name, json(&Digits(from_amount))?),
            (SLIPPAGE.name, json(&slippage)?),
        ])
    }

    /// Returns the request with the least output that is accepted, in the output token's smallest
    /// unit.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_min_amount_out(&self, least: U256) -> Result<Self, Refusal> {
        self.with(MIN_AMOUNT_OUT.name, Digits(least))
    }

    /// Returns the request with the most that the swap may lose at present prices. It tightens the
    /// limits of the service that makes the plan, or loosens them up to that service's ceiling.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_max_price_impact(&self, most: BasisPoints) -> Result<Self, Refusal> {
        self.with(MAX_PRICE_IMPACT_BPS.name, most.get())
    }

    /// Returns the request with the steps in further forms.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_exports(&self, exports: ExportSet) -> Result<Self, Refusal> {
        self.with(EXPORTS.name, exports.words())
    }

    /// The further forms in which the plan gives its steps.
    #[must_use]
    pub const fn exports(&self) -> ExportSet {
        self.exports
    }

    /// The account that the plan is for.
    #[must_use]
    pub const fn account(&self) -> &AccountProfile {
        &self.account_profile
    }

    /// Reads the arguments.
    ///
    /// # Errors
    /// `input_invalid` with every problem; `token_unsupported` for a chain's native coin;
    /// `agg_receiver_account_bound` for an account on another chain than the swap.
    pub(crate) fn parse(arguments: &Value) -> Result<Self, Refusal> {
        let tokens = [FROM_TOKEN.name, TO_TOKEN.name];
        let request = match read_arguments(arguments, PROPERTIES, Self::read) {
            Ok(request) => request,
            // The reader refuses the zero address. When nothing else is wrong, the caller means the
            // native coin by it.
            Err(refusal) => {
                let of_tokens = |path: &str| tokens.iter().any(|token| path.ends_with(token));
                if refusal
                    .problems
                    .iter()
                    .all(|problem| of_tokens(&problem.path))
                {
                    tokens
                        .iter()
                        .try_for_each(|token| refuse_native(arguments, token))?;
                }
                return Err(refusal);
            }
        };
        tokens
            .iter()
            .try_for_each(|token| refuse_native(arguments, token))?;
        if request.account_profile.chain_id != request.chain_id {
            let message = "the account is on another chain than the swap";
            return Err(Refusal::new(checks::RECEIVER, message)
                .comparing(request.chain_id, request.account_profile.chain_id)
                .at("$.accountProfile.chainId"));
        }
        Ok(request)
    }

    fn read(reader: &Reader<'_>, outcome: &Outcome) -> Option<Self> {
        let account_profile = AccountProfile::read(reader, &PROFILE, None);
        let chain_id = reader.required(&CHAIN_ID);
        let from_token = reader.required(&FROM_TOKEN);
        let to_token = reader.required(&TO_TOKEN);
        let from_amount = reader.required(&FROM_AMOUNT);
        let max_bps = reader
            .object(&SLIPPAGE)
            .and_then(|slippage| slippage.required(&MAX_BPS));
        let min_amount_out = reader.optional(&MIN_AMOUNT_OUT);
        let max_price_impact_bps = reader.optional(&MAX_PRICE_IMPACT_BPS);
        let exports = reader.optional(&EXPORTS);
        refuse_safe_batch(reader, outcome, account_profile, exports.as_ref());
        if from_token.is_some() && from_token == to_token {
            outcome.note(
                &reader.path_of(TO_TOKEN.name),
                "another token than fromToken",
                "the same token",
            );
        }
        Some(Self {
            account_profile: account_profile?,
            chain_id: chain_id?,
            exports: ExportSet::from_words(&exports?.unwrap_or_default()),
            from_amount: Digits(from_amount?),
            from_token: from_token?,
            max_price_impact_bps: match max_price_impact_bps? {
                None => None,
                Some(bps) => Some(basis_points(bps)?),
            },
            min_amount_out: min_amount_out?.map(Digits),
            slippage: Slippage {
                max_bps: basis_points(max_bps?)?,
            },
            to_token: to_token?,
        })
    }

    /// The request in the form of the checks.
    #[must_use]
    pub fn asked(&self) -> SwapAsked {
        SwapAsked {
            account: self.account_profile.address,
            account_chain_id: self.account_profile.chain_id,
            chain_id: self.chain_id,
            from_token: self.from_token,
            to_token: self.to_token,
            from_amount: self.from_amount.0,
            max_slippage: self.slippage.max_bps,
            min_amount_out: self.min_amount_out.map(|least| least.0),
        }
    }
}

impl Editable for SwapRequest {
    fn read_from(arguments: &Value) -> Result<Self, Refusal> {
        Self::parse(arguments)
    }
}

fn refuse_native(arguments: &Value, token: &str) -> Result<(), Refusal> {
    let text = arguments.get(token).and_then(Value::as_str);
    match text.filter(|text| {
        NATIVE
            .iter()
            .any(|native| native.eq_ignore_ascii_case(text))
    }) {
        Some(native) => Err(Refusal::new(
            Refusal::TOKEN_UNSUPPORTED,
            "swaps are between ERC-20 tokens; a chain's native coin has to be wrapped first",
        )
        .comparing("the address of an ERC-20 token", native)
        .at(format!("$.{token}"))),
        None => Ok(()),
    }
}

fn nothing_chosen(exports: &ExportSet) -> bool {
    *exports == ExportSet::default()
}

fn export_words<S: Serializer>(exports: &ExportSet, serializer: S) -> Result<S::Ok, S::Error> {
    exports.words().serialize(serializer)
}

fn basis_points(number: u64) -> Option<BasisPoints> {
    u16::try_from(number).ok().and_then(BasisPoints::new)
}

fn optional_bps_number<S: Serializer>(
    bps: &Option<BasisPoints>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    bps.map(BasisPoints::get).serialize(serializer)
}

fn bps_number<S: Serializer>(bps: &BasisPoints, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(bps.get())
}
