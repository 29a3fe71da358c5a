//! The arguments of `prepare_perp_order`.

use alloy_primitives::{Address, B128};
use calldata_checks::{Decimal, perp_order as checks};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    AccountProfile, Refusal,
    arguments::{Argument, Object, Outcome, Property, Reader},
    edit::{Editable, json},
    profile::{PROFILE_WITHOUT_CHAIN, read_arguments},
    wire::Exact,
};

/// The chain id of the venue's signing domain.
pub(super) const SIGNING_CHAIN_ID: u64 = 1337;

static COIN: Argument<String> = Argument::text(
    "coin",
    "the perpetual's name at the venue: BTC, or dex:COIN (xyz:TSLA) on a builder-deployed dex",
    "^[0-9A-Za-z@#/:_.-]{1,40}$",
    40,
    |text| {
        let known = |b: u8| b.is_ascii_alphanumeric() || b"@#/:_.-".contains(&b);
        !text.is_empty() && text.bytes().all(known)
    },
);
static SIDE: Argument<&'static str> =
    Argument::choice("side", "buy: long; sell: short", &["buy", "sell"]);
static PRICE: Argument<Decimal> = Argument::decimal(
    "price",
    "limit price in USD; an integer, or at most 5 significant figures and 6 - szDecimals decimals",
);
static SIZE: Argument<Decimal> = Argument::decimal(
    "size",
    "size in units of the coin, with at most szDecimals decimals",
);
static TIF: Argument<&'static str> = Argument::choice(
    "tif",
    "Gtc (default): until cancelled; Ioc: what does not fill at once is cancelled; Alo: only as a maker",
    &["Gtc", "Ioc", "Alo"],
);
static REDUCE_ONLY: Argument<bool> = Argument::flag(
    "reduceOnly",
    "whether the order may only reduce a position (default false)",
);
static CLOID: Argument<String> = Argument::text(
    "cloid",
    "client order id: 16 bytes in hex",
    "^0x[0-9a-fA-F]{32}$",
    34,
    |text| exact::parse_hex_array::<16>(text).is_some(),
);
static VAULT_ADDRESS: Argument<Address> = Argument::address(
    "vaultAddress",
    "the vault or sub-account to trade for; the account is its master",
);
static TRIGGER_PRICE: Argument<Decimal> =
    Argument::decimal("triggerPrice", "the mark price in USD that fires it");
static LIMIT_PRICE: Argument<Decimal> = Argument::decimal(
    "limitPrice",
    "limit price once fired; without one it takes the market within the configured tolerance",
);
static TAKE_PROFIT: Object = Object {
    name: "takeProfit",
    description: "a reduce-only order of the same size that takes a profit",
    properties: TRIGGER,
};
static STOP_LOSS: Object = Object {
    name: "stopLoss",
    description: "a reduce-only order of the same size that stops a loss",
    properties: TRIGGER,
};
const TRIGGER: &[Property] = &[
    Property::required(&TRIGGER_PRICE),
    Property::optional(&LIMIT_PRICE),
];

/// The declarations of the arguments.
pub(crate) const PROPERTIES: &[Property] = &[
    Property::required_object(&PROFILE_WITHOUT_CHAIN),
    Property::required(&COIN),
    Property::required(&SIDE),
    Property::required(&PRICE),
    Property::required(&SIZE),
    Property::optional(&TIF),
    Property::optional(&REDUCE_ONLY),
    Property::optional(&CLOID),
    Property::optional(&VAULT_ADDRESS),
    Property::optional_object(&TAKE_PROFIT),
    Property::optional_object(&STOP_LOSS),
];

/// A request for an order, in normal form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PerpOrderRequest {
    /// The caller's account at the venue: a master account.
    pub(super) account_profile: AccountProfile,
    /// The client order id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cloid: Option<B128>,
    /// The perpetual.
    pub(super) coin: String,
    /// The limit price in USD.
    pub(super) price: Exact,
    /// Whether the order may only reduce a position.
    pub(super) reduce_only: bool,
    /// Buy or sell.
    #[serde(serialize_with = "side_text")]
    pub(super) side: checks::Side,
    /// The size in units of the coin.
    pub(super) size: Exact,
    /// The stop-loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_loss: Option<TriggerRequest>,
    /// The take-profit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) take_profit: Option<TriggerRequest>,
    /// The order's time in force.
    #[serde(serialize_with = "tif_text")]
    pub(super) tif: checks::TimeInForce,
    /// The vault or sub-account that the order trades for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vault_address: Option<Address>,
}

/// A requested take-profit or stop-loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TriggerRequest {
    /// The limit price in USD. Without one, the trigger takes the market price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit_price: Option<Exact>,
    /// The trigger fires when the mark price reaches this price in USD.
    pub(super) trigger_price: Exact,
}

impl PerpOrderRequest {
    /// Creates an order of an EOA for `size` of a perpetual, at the limit price `price` in USD.
    ///
    /// ```
    /// use alloy_primitives::{B128, address};
    /// use calldata_checks::perp_order::{Side, TimeInForce};
    /// use plan_builder::perp_order::PerpOrderRequest;
    ///
    /// let account = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// let (price, size) = ("90000".parse()?, "0.01".parse()?);
    /// let request = PerpOrderRequest::new(account, "BTC", Side::Buy, price, size)?
    ///     .with_time_in_force(TimeInForce::Alo)?
    ///     .with_cloid(B128::repeat_byte(7))?
    ///     .with_take_profit("95000".parse()?, Some("94500".parse()?))?
    ///     .with_stop_loss("85000".parse()?, None)?;
    /// let asked = request.asked();
    /// assert_eq!((asked.coin.as_str(), asked.cloid), ("BTC", Some(B128::repeat_byte(7))));
    /// assert!(asked.take_profit.is_some() && asked.stop_loss.is_some());
    ///
    /// // Closes a position of a vault.
    /// let vault = address!("1719884eb866cb12b2287399b15f7db5e7d775ea");
    /// let closing = PerpOrderRequest::new(account, "BTC", Side::Sell, price, size)?
    ///     .with_vault(vault)?
    ///     .with_reduce_only(true)?;
    /// assert_eq!((closing.asked().vault, closing.asked().reduce_only), (Some(vault), true));
    ///
    /// let pair = PerpOrderRequest::new(account, "BTC/USD", Side::Buy, price, size);
    /// assert_eq!(pair.unwrap_err().check, "token_unsupported");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn new(
        account: Address,
        coin: &str,
        side: checks::Side,
        price: Decimal,
        size: Decimal,
    ) -> Result<Self, Refusal> {
        let account = AccountProfile::eoa(account, SIGNING_CHAIN_ID);
        Self::of([
            (PROFILE_WITHOUT_CHAIN.name, json(&account)?),
            (COIN.name, json(&coin)?),
            (SIDE.name, json(&side.as_str())?),
            (PRICE.name, json(&Exact(price))?),
            (SIZE.name, json(&Exact(size))?),
        ])
    }

    /// Returns the request with this time in force.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_time_in_force(&self, tif: checks::TimeInForce) -> Result<Self, Refusal> {
        self.with(TIF.name, tif.as_str())
    }

    /// Returns the request for an order that may only reduce a position (`true`), or not.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_reduce_only(&self, reduce_only: bool) -> Result<Self, Refusal> {
        self.with(REDUCE_ONLY.name, reduce_only)
    }

    /// Returns the request with a client order id.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_cloid(&self, cloid: B128) -> Result<Self, Refusal> {
        self.with(CLOID.name, cloid)
    }

    /// Returns the request for a vault or sub-account. The account must be its master.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_vault(&self, vault: Address) -> Result<Self, Refusal> {
        self.with(VAULT_ADDRESS.name, vault)
    }

    /// Returns the request with a take-profit. Without a limit price it takes the market price.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_take_profit(
        &self,
        trigger_price: Decimal,
        limit_price: Option<Decimal>,
    ) -> Result<Self, Refusal> {
        let trigger = TriggerRequest::of(trigger_price, limit_price);
        self.with(TAKE_PROFIT.name, trigger)
    }

    /// Returns the request with a stop-loss. Without a limit price it takes the market price.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_stop_loss(
        &self,
        trigger_price: Decimal,
        limit_price: Option<Decimal>,
    ) -> Result<Self, Refusal> {
        let trigger = TriggerRequest::of(trigger_price, limit_price);
        self.with(STOP_LOSS.name, trigger)
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
    /// EOA; `chain_unsupported` for another chain id than that of the venue's signing domain;
    /// `token_unsupported` for the name of a spot pair or an outcome.
    pub(crate) fn parse(arguments: &Value) -> Result<Self, Refusal> {
        let request = read_arguments(arguments, PROPERTIES, Self::read)?;
        let profile = request.account_profile;
        profile
            .kind
            .require_eoa("the venue takes no signature of a contract account")?;
        if profile.chain_id != SIGNING_CHAIN_ID {
            let message = "the venue's orders are signed for one chain id";
            return Err(Refusal::new(Refusal::CHAIN_UNSUPPORTED, message)
                .comparing(SIGNING_CHAIN_ID, profile.chain_id)
                .at("$.accountProfile.chainId"));
        }
        if request.coin.contains(['@', '#', '/']) {
            let message = "only perpetuals are traded here, no spot pairs and no outcomes";
            return Err(Refusal::new(Refusal::TOKEN_UNSUPPORTED, message)
                .comparing("the name of a perpetual: BTC, xyz:TSLA", &request.coin)
                .at("$.coin"));
        }
        Ok(request)
    }

    fn read(reader: &Reader<'_>, _: &Outcome) -> Option<Self> {
        // Every argument is read before this function returns, so that every problem is noted.
        let account_profile =
            AccountProfile::read(reader, &PROFILE_WITHOUT_CHAIN, Some(SIGNING_CHAIN_ID));
        let coin = reader.required(&COIN);
        let side = reader.required(&SIDE);
        let price = reader.required(&PRICE);
        let size = reader.required(&SIZE);
        let tif = reader.optional(&TIF);
        let reduce_only = reader.optional(&REDUCE_ONLY);
        let cloid = reader.optional(&CLOID);
        let vault_address = reader.optional(&VAULT_ADDRESS);
        let take_profit = TriggerRequest::read(reader, &TAKE_PROFIT);
        let stop_loss = TriggerRequest::read(reader, &STOP_LOSS);
        let tif = tif?.map_or(Some(checks::TimeInForce::Gtc), |word| {
            checks::TimeInForce::ALL
                .into_iter()
                .find(|known| known.as_str() == word)
        });
        Some(Self {
            account_profile: account_profile?,
            // Hex digits of either case name the same id. The venue hashes the text in lower case.
            cloid: cloid?.and_then(|text| text.parse().ok()),
            coin: coin?,
            price: Exact(price?),
            reduce_only: reduce_only?.unwrap_or(false),
            side: if side? == "buy" {
                checks::Side::Buy
            } else {
                checks::Side::Sell
            },
            size: Exact(size?),
            stop_loss: stop_loss?,
            take_profit: take_profit?,
            tif: tif?,
            vault_address: vault_address?,
        })
    }

    /// The request in the form of the checks.
    #[must_use]
    pub fn asked(&self) -> checks::Ask {
        checks::Ask {
            account: self.account_profile.address,
            vault: self.vault_address,
            coin: self.coin.clone(),
            side: self.side,
            price: self.price.0,
            size: self.size.0,
            tif: self.tif,
            reduce_only: self.reduce_only,
            cloid: self.cloid,
            take_profit: self.take_profit.map(TriggerRequest::ask),
            stop_loss: self.stop_loss.map(TriggerRequest::ask),
        }
    }
}

impl Editable for PerpOrderRequest {
    fn read_from(arguments: &Value) -> Result<Self, Refusal> {
        Self::parse(arguments)
    }
}

impl TriggerRequest {
    fn of(trigger_price: Decimal, limit_price: Option<Decimal>) -> Self {
        Self {
            limit_price: limit_price.map(Exact),
            trigger_price: Exact(trigger_price),
        }
    }

    /// Reads one trigger. The outer `None` means that a problem was noted.
    fn read(reader: &Reader<'_>, object: &'static Object) -> Option<Option<Self>> {
        if !reader.has(object.name) {
            return Some(None);
        }
        let trigger = reader.object(object)?;
        let trigger_price = trigger.required(&TRIGGER_PRICE);
        let limit_price = trigger.optional(&LIMIT_PRICE);
        Some(Some(Self {
            limit_price: limit_price?.map(Exact),
            trigger_price: Exact(trigger_price?),
        }))
    }

    fn ask(self) -> checks::TriggerAsk {
        checks::TriggerAsk {
            trigger_price: self.trigger_price.0,
            limit_price: self.limit_price.map(|limit| limit.0),
        }
    }
}

fn side_text<S: Serializer>(side: &checks::Side, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(side.as_str())
}

fn tif_text<S: Serializer>(tif: &checks::TimeInForce, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(tif.as_str())
}
