//! The arguments of `prepare_pm_order`.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::{Decimal, pm_order as checks};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    AccountProfile, Refusal,
    arguments::{Argument, Outcome, Property, Reader},
    edit::{Editable, json},
    profile::{PROFILE, read_arguments},
    wire::{Digits, Exact, Word},
};

static TOKEN_ID: Argument<U256> = Argument::digits(
    "tokenId",
    "the outcome token's id (the venue's asset id), as digits",
);
static SIDE: Argument<&'static str> = Argument::choice(
    "side",
    "BUY gives collateral for shares, SELL gives shares",
    &["BUY", "SELL"],
);
static PRICE: Argument<Decimal> = Argument::decimal(
    "price",
    "price of one share; a multiple of the market's tick",
);
static SIZE: Argument<Decimal> =
    Argument::decimal("size", "size in shares, with at most 2 decimals");
static CONDITION_ID: Argument<B256> = Argument::word(
    "conditionId",
    "the market's condition; refused if the token is of another one",
);
static OUTCOME: Argument<String> = Argument::text(
    "outcome",
    "the token's outcome, as the venue spells it; refused if the token stands for another one",
    "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
    200,
    |text| !text.is_empty() && !text.chars().any(char::is_control),
);
static POST_ONLY: Argument<bool> = Argument::flag(
    "postOnly",
    "whether the venue must reject the order if it would match at once",
);
static MAX_COST: Argument<Decimal> = Argument::decimal(
    "maxCost",
    "BUY only: the most that the order may cost, in collateral, before the venue's fee",
);
static MIN_PROCEEDS: Argument<Decimal> = Argument::decimal(
    "minProceeds",
    "SELL only: the least that the order must bring, in collateral, before the venue's fee",
);

/// The declarations of the arguments.
pub(crate) const PROPERTIES: &[Property] = &[
    Property::required_object(&PROFILE),
    Property::required(&TOKEN_ID),
    Property::required(&SIDE),
    Property::required(&PRICE),
    Property::required(&SIZE),
    Property::optional(&CONDITION_ID),
    Property::optional(&OUTCOME),
    Property::optional(&POST_ONLY),
    Property::optional(&MAX_COST),
    Property::optional(&MIN_PROCEEDS),
];

/// A request for an order, in normal form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PmOrderRequest {
    /// The caller's account: an EOA on Polygon.
    pub(super) account_profile: AccountProfile,
    /// The market's condition, if the caller names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) condition_id: Option<Word>,
    /// The most that a purchase may cost, in collateral, before the venue's fee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_cost: Option<Exact>,
    /// The least that a sale must bring, in collateral, before the venue's fee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_proceeds: Option<Exact>,
    /// The token's outcome, if the caller names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<String>,
    /// Whether the order must not match at once.
    pub(super) post_only: bool,
    /// The price of one share, in collateral.
    pub(super) price: Exact,
    /// Buy or sell.
    #[serde(serialize_with = "side_text")]
    pub(super) side: checks::Side,
    /// The size, in shares.
    pub(super) size: Exact,
    /// The outcome token.
    pub(super) token_id: Digits,
}

impl PmOrderRequest {
    /// Creates an order of an EOA on Polygon for `size` shares of an outcome token, at `price`
    /// each.
    ///
    /// ```
    /// use alloy_primitives::{B256, U256, address};
    /// use calldata_checks::pm_order::Side;
    /// use plan_builder::pm_order::PmOrderRequest;
    ///
    /// let account = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// let (price, size) = ("0.52".parse()?, "100".parse()?);
    /// let request = PmOrderRequest::new(account, U256::from(7), Side::Buy, price, size)?
    ///     .with_max_cost("52".parse()?)?
    ///     .with_condition_id(B256::repeat_byte(7))?
    ///     .with_outcome("Yes")?
    ///     .with_post_only(true)?;
    /// let asked = request.asked();
    /// assert_eq!((asked.price, asked.outcome.as_deref()), (price, Some("Yes")));
    /// assert_eq!((asked.condition_id, asked.post_only), (Some(B256::repeat_byte(7)), true));
    ///
    /// let refused = request.with_min_proceeds("52".parse()?).unwrap_err();
    /// assert_eq!(refused.check, "input_invalid");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn new(
        account: Address,
        token_id: U256,
        side: checks::Side,
        price: Decimal,
        size: Decimal,
    ) -> Result<Self, Refusal> {
        let account = AccountProfile::eoa(account, checks::CHAIN_ID);
        Self::of([
            (PROFILE.name, json(&account)?),
            (TOKEN_ID.name, json(&Digits(token_id))?),
            (SIDE.name, json(&side.as_str())?),
            (PRICE.name, json(&Exact(price))?),
            (SIZE.name, json(&Exact(size))?),
        ])
    }

    /// Returns the request with this condition: the token must belong to this market.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_condition_id(&self, condition: B256) -> Result<Self, Refusal> {
        self.with(CONDITION_ID.name, Word(condition))
    }

    /// Returns the request with this outcome: the token must have it, as the venue spells it.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_outcome(&self, outcome: &str) -> Result<Self, Refusal> {
        self.with(OUTCOME.name, outcome)
    }

    /// Returns the request for an order that the venue must reject if it would match at once
    /// (`true`), or not.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_post_only(&self, post_only: bool) -> Result<Self, Refusal> {
        self.with(POST_ONLY.name, post_only)
    }

    /// Returns the request with the most that a purchase may cost, in collateral, before the
    /// venue's fee.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_max_cost(&self, most: Decimal) -> Result<Self, Refusal> {
        self.with(MAX_COST.name, Exact(most))
    }

    /// Returns the request with the least that a sale must bring, in collateral, before the venue's
    /// fee.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_min_proceeds(&self, least: Decimal) -> Result<Self, Refusal> {
        self.with(MIN_PROCEEDS.name, Exact(least))
    }

    /// The account that the plan is for.
    #[must_use]
    pub const fn account(&self) -> &AccountProfile {
        &self.account_profile
    }

    /// Reads the arguments.
    ///
    /// # Errors
    /// `input_invalid` with every problem; `account_kind_unsupported` for an account that is not an
    /// EOA; `chain_unsupported` for an account on another chain than Polygon.
    pub(crate) fn parse(arguments: &Value) -> Result<Self, Refusal> {
        let request = read_arguments(arguments, PROPERTIES, Self::read)?;
        let profile = request.account_profile;
        profile
            .kind
            .require_eoa("orders of the prediction market are built for EOAs only")?;
        if profile.chain_id != checks::CHAIN_ID {
            let message = "the prediction market is on Polygon";
            return Err(Refusal::new(Refusal::CHAIN_UNSUPPORTED, message)
                .comparing(checks::CHAIN_ID, profile.chain_id)
                .at("$.accountProfile.chainId"));
        }
        Ok(request)
    }

    fn read(reader: &Reader<'_>, outcome: &Outcome) -> Option<Self> {
        let account_profile = AccountProfile::read(reader, &PROFILE, None);
        let token_id = reader.required(&TOKEN_ID);
        let side = reader.required(&SIDE).and_then(checks::Side::from_text);
        let price = reader.required(&PRICE);
        let size = reader.required(&SIZE);
        let condition_id = reader.optional(&CONDITION_ID);
        let token_outcome = reader.optional(&OUTCOME);
        let post_only = reader.optional(&POST_ONLY);
        let max_cost = reader.optional(&MAX_COST);
        let min_proceeds = reader.optional(&MIN_PROCEEDS);
        let foreign = side.map(|side| match side {
            checks::Side::Buy => (MIN_PROCEEDS.name, "nothing: a purchase has no proceeds"),
            checks::Side::Sell => (MAX_COST.name, "nothing: a sale has no cost"),
        });
        if let Some((name, expected)) = foreign
            && reader.has(name)
        {
            outcome.note(&reader.path_of(name), expected, "a limit of the other side");
        }
        Some(Self {
            account_profile: account_profile?,
            condition_id: condition_id?.map(Word),
            max_cost: max_cost?.map(Exact),
            min_proceeds: min_proceeds?.map(Exact),
            outcome: token_outcome?,
            post_only: post_only?.unwrap_or(false),
            price: Exact(price?),
            side: side?,
            size: Exact(size?),
            token_id: Digits(token_id?),
        })
    }

    /// The request in the form of the checks.
    #[must_use]
    pub fn asked(&self) -> checks::PmOrderRequest {
        checks::PmOrderRequest {
            account: self.account_profile.address,
            chain_id: self.account_profile.chain_id,
            token_id: self.token_id.0,
            side: self.side,
            price: self.price.0,
            size: self.size.0,
            condition_id: self.condition_id.map(|word| word.0),
            outcome: self.outcome.clone(),
            post_only: self.post_only,
            max_cost: self.max_cost.map(|limit| limit.0),
            min_proceeds: self.min_proceeds.map(|limit| limit.0),
        }
    }
}

impl Editable for PmOrderRequest {
    fn read_from(arguments: &Value) -> Result<Self, Refusal> {
        Self::parse(arguments)
    }
}

fn side_text<S: Serializer>(side: &checks::Side, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(side.as_str())
}
