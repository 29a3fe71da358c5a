//! The arguments of the bridge constructor.

use alloy_primitives::{Address, U256};
use calldata_checks::{
    Violation,
    bridge::{
        self, Asked, TransferSpeed,
        chains::{self, BridgeChain},
    },
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    AccountKind, AccountProfile, ExportSet, Refusal,
    arguments::{Argument, Outcome, Property, Reader},
    edit::{Editable, json},
    profile::{PROFILE, read_arguments, refuse_safe_batch},
    wire::Digits,
};

static FROM_CHAIN_ID: Argument<u64> = Argument::integer(
    "fromChainId",
    "the chain that USDC leaves: 1 Ethereum, 137 Polygon, 8453 Base, 42161 Arbitrum, 43114 Avalanche; the account's own chain",
    1,
    u64::MAX >> 11,
);
static TO_CHAIN_ID: Argument<u64> = Argument::integer(
    "toChainId",
    "the chain that USDC reaches, another one of the five",
    1,
    u64::MAX >> 11,
);
static TOKEN: Argument<String> = Argument::text(
    "token",
    "\"USDC\", or the address of native USDC on the source chain",
    "^(USDC|0x[0-9a-fA-F]{40})$",
    64,
    |text| !text.chars().any(char::is_control),
);
static TOKEN_ADDRESS: Argument<Address> = Argument::address("token", "native USDC");
static AMOUNT: Argument<U256> = Argument::amount(
    "amount",
    "how much USDC leaves, in its smallest unit (6 decimals)",
);
static TRANSFER_SPEED: Argument<&'static str> = Argument::choice(
    "transferSpeed",
    "standard (the default): free, after finality; fast: within seconds for a fee, from Ethereum, Base and Arbitrum",
    &[
        TransferSpeed::Standard.as_str(),
        TransferSpeed::Fast.as_str(),
    ],
);
static MAX_FEE: Argument<U256> = Argument::digits(
    "maxFee",
    "the most that the protocol may deduct at the mint, in the smallest unit; computed from the current fees when missing",
);
static MIN_AMOUNT_OUT: Argument<U256> = Argument::digits(
    "minAmountOut",
    "the least that must be minted, in the smallest unit: no plan when amount - maxFee is below it",
);
static FORWARD: Argument<bool> = Argument::flag(
    "forward",
    "true: the protocol's relayer submits the mint, paid from the amount; false (the default): the caller does, with gas there",
);
static EXPORTS: Argument<Vec<&'static str>> = Argument::choices(
    "exports",
    "the same steps in further forms: EIP-5792 wallet_sendCalls, Safe Transaction Builder batch",
    ExportSet::WORDS,
);

/// The declarations of the arguments.
pub(crate) static PROPERTIES: &[Property] = &[
    Property::required_object(&PROFILE),
    Property::required(&FROM_CHAIN_ID),
    Property::required(&TO_CHAIN_ID),
    Property::required(&TOKEN),
    Property::required(&AMOUNT),
    Property::optional(&TRANSFER_SPEED),
    Property::optional(&MAX_FEE),
    Property::optional(&MIN_AMOUNT_OUT),
    Property::optional(&FORWARD),
    Property::optional(&EXPORTS),
];

/// A bridge request. Its serde form is the normal form, with the defaults written out and the token
/// as an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BridgeRequest {
    account_profile: AccountProfile,
    amount: Digits,
    #[serde(
        serialize_with = "export_words",
        skip_serializing_if = "nothing_exported"
    )]
    exports: ExportSet,
    forward: bool,
    from_chain_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fee: Option<Digits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_amount_out: Option<Digits>,
    to_chain_id: u64,
    token: Address,
    #[serde(serialize_with = "speed_word")]
    transfer_speed: TransferSpeed,
}

impl BridgeRequest {
    /// Creates a transfer of `amount` (in the smallest unit of USDC) from the account's own chain,
    /// at the standard speed, to be minted by the caller.
    ///
    /// ```
    /// use alloy_primitives::{U256, address};
    /// use calldata_checks::bridge::TransferSpeed;
    /// use plan_builder::{AccountProfile, bridge::BridgeRequest};
    ///
    /// let holder = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// let account = AccountProfile::eoa(holder, 8453);
    /// let request = BridgeRequest::new(account, 42161, U256::from(5_000_000))?
    ///     .with_speed(TransferSpeed::Fast)?
    ///     .with_max_fee(U256::from(10_000))?
    ///     .with_min_amount_out(U256::from(4_990_000))?
    ///     .with_forward(true)?;
    /// let asked = request.asked();
    /// assert_eq!(asked.destination_chain_id, 42161);
    /// assert_eq!((asked.max_fee, asked.forward), (Some(U256::from(10_000)), true));
    ///
    /// let refused = BridgeRequest::new(account, 8453, U256::from(1)).unwrap_err();
    /// assert_eq!(refused.check, "route_unsupported");
    /// # Ok::<(), plan_builder::Refusal>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn new(account: AccountProfile, to_chain_id: u64, amount: U256) -> Result<Self, Refusal> {
        Self::of([
            (PROFILE.name, json(&account)?),
            (FROM_CHAIN_ID.name, json(&account.chain_id)?),
            (TO_CHAIN_ID.name, json(&to_chain_id)?),
            (TOKEN.name, json(&"USDC")?),
            (AMOUNT.name, json(&Digits(amount))?),
        ])
    }

    /// Returns the request with this speed.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_speed(&self, speed: TransferSpeed) -> Result<Self, Refusal> {
        self.with(TRANSFER_SPEED.name, speed.as_str())
    }

    /// Returns the request with the most that the protocol may deduct at the mint, in the smallest
    /// unit of USDC.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_max_fee(&self, most: U256) -> Result<Self, Refusal> {
        self.with(MAX_FEE.name, Digits(most))
    }

    /// Returns the request with the least amount that must be minted, in the smallest unit of USDC.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_min_amount_out(&self, least: U256) -> Result<Self, Refusal> {
        self.with(MIN_AMOUNT_OUT.name, Digits(least))
    }

    /// Returns the request with the mint submitted by the protocol's relayer (`true`) or by the
    /// caller.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_forward(&self, forward: bool) -> Result<Self, Refusal> {
        self.with(FORWARD.name, forward)
    }

    /// Returns the request with the steps in further forms.
    ///
    /// # Errors
    /// Those of [`Request::parse`](crate::Request::parse): a typed value meets the same bounds as
    /// one in JSON.
    pub fn with_exports(&self, exports: ExportSet) -> Result<Self, Refusal> {
        self.with(EXPORTS.name, exports.words())
    }

    /// Reads the constructor's arguments.
    ///
    /// # Errors
    /// `input_invalid` with every problem; `chain_unsupported`, `route_unsupported`,
    /// `token_unsupported`; `bridge_route_enumerated` when the account is named on another chain
    /// than the source.
    pub(crate) fn parse(arguments: &Value) -> Result<Self, Refusal> {
        read_arguments(arguments, PROPERTIES, Given::read)?.resolve()
    }

    /// The request in the form of the checks.
    #[must_use]
    pub fn asked(&self) -> Asked {
        Asked {
            account: self.account_profile.address,
            account_kind: match self.account_profile.kind {
                AccountKind::Eoa => bridge::AccountKind::Eoa,
                AccountKind::Safe => bridge::AccountKind::Safe,
            },
            account_chain_id: self.account_profile.chain_id,
            source_chain_id: self.from_chain_id,
            destination_chain_id: self.to_chain_id,
            token: self.token,
            amount: self.amount.0,
            speed: self.transfer_speed,
            max_fee: self.max_fee.map(|digits| digits.0),
            min_amount_out: self.min_amount_out.map(|digits| digits.0),
            forward: self.forward,
        }
    }

    /// The account that the plan is for.
    #[must_use]
    pub const fn account(&self) -> &AccountProfile {
        &self.account_profile
    }

    /// The further forms in which the plan gives its steps.
    #[must_use]
    pub const fn exports(&self) -> ExportSet {
        self.exports
    }
}

impl Editable for BridgeRequest {
    fn read_from(arguments: &Value) -> Result<Self, Refusal> {
        Self::parse(arguments)
    }
}

/// Arguments that are well-formed. Their route may not exist.
struct Given {
    account_profile: AccountProfile,
    from_chain_id: u64,
    to_chain_id: u64,
    token: Token,
    amount: U256,
    transfer_speed: TransferSpeed,
    max_fee: Option<U256>,
    min_amount_out: Option<U256>,
    forward: bool,
    exports: ExportSet,
}

/// A token as the caller names it.
enum Token {
    Address(Address),
    Symbol(String),
}

impl Given {
    fn read(reader: &Reader<'_>, outcome: &Outcome) -> Option<Self> {
        let account_profile = AccountProfile::read(reader, &PROFILE, None);
        let from_chain_id = reader.required(&FROM_CHAIN_ID);
        let to_chain_id = reader.required(&TO_CHAIN_ID);
        let token = reader
            .required(&TOKEN)
            .and_then(|text| Token::read(text, reader, outcome));
        let amount = reader.required(&AMOUNT);
        let speed = reader.optional(&TRANSFER_SPEED);
        let max_fee = reader.optional(&MAX_FEE);
        let min_amount_out = reader.optional(&MIN_AMOUNT_OUT);
        let forward = reader.optional(&FORWARD);
        let exports = reader.optional(&EXPORTS);
        refuse_safe_batch(reader, outcome, account_profile, exports.as_ref());
        Some(Self {
            account_profile: account_profile?,
            from_chain_id: from_chain_id?,
            to_chain_id: to_chain_id?,
            token: token?,
            amount: amount?,
            transfer_speed: match speed? {
                Some(word) if word == TransferSpeed::Fast.as_str() => TransferSpeed::Fast,
                _ => TransferSpeed::Standard,
            },
            max_fee: max_fee?,
            min_amount_out: min_amount_out?,
            forward: forward?.unwrap_or(false),
            exports: ExportSet::from_words(&exports?.unwrap_or_default()),
        })
    }

    fn resolve(self) -> Result<BridgeRequest, Refusal> {
        let source = served(self.from_chain_id, "$.fromChainId")?;
        let destination = served(self.to_chain_id, "$.toChainId")?;
        if source.chain_id == destination.chain_id {
            return Err(Refusal::new(
                Refusal::ROUTE_UNSUPPORTED,
                format!("there is no route from {} to itself", source.name),
            )
            .comparing("another chain than fromChainId", destination.chain_id)
            .at("$.toChainId"));
        }
        let request = BridgeRequest {
            token: self.token.on(source)?,
            account_profile: self.account_profile,
            amount: Digits(self.amount),
            exports: self.exports,
            forward: self.forward,
            from_chain_id: source.chain_id,
            max_fee: self.max_fee.map(Digits),
            min_amount_out: self.min_amount_out.map(Digits),
            to_chain_id: destination.chain_id,
            transfer_speed: self.transfer_speed,
        };
        request.asked().judge().map_err(|failure| {
            let path = match failure.check {
                bridge::checks::ROUTE => "$.accountProfile.chainId",
                bridge::checks::AMOUNT => "$.amount",
                _ => "$.transferSpeed",
            };
            Refusal::from(failure).at(path)
        })?;
        Ok(request)
    }
}

impl Token {
    fn read(text: String, reader: &Reader<'_>, outcome: &Outcome) -> Option<Self> {
        if !text.starts_with("0x") {
            return Some(Self::Symbol(text));
        }
        let address = TOKEN_ADDRESS.value(&Value::String(text));
        if address.is_none() {
            outcome.note(
                &reader.path_of("token"),
                "\"USDC\", or an address with a right checksum when in mixed case",
                "0x and something else",
            );
        }
        address.map(Self::Address)
    }

    /// Returns the token's address on the source chain.
    fn on(self, source: &BridgeChain) -> Result<Address, Refusal> {
        let violation = match self {
            Self::Symbol(symbol) if symbol == "USDC" => return Ok(source.usdc),
            Self::Symbol(symbol) => Violation::new("only native USDC is bridged", "USDC", symbol),
            Self::Address(address) => match source.judge_token(address) {
                Ok(()) => return Ok(address),
                Err(violation) => violation,
            },
        };
        Err(named(Refusal::TOKEN_UNSUPPORTED, violation, "$.token"))
    }
}

fn served(chain_id: u64, path: &str) -> Result<&'static BridgeChain, Refusal> {
    chains::reviewed(chain_id)
        .map_err(|violation| named(Refusal::CHAIN_UNSUPPORTED, violation, path))
}

fn named(name: &'static str, violation: Violation, path: &str) -> Refusal {
    Refusal::new(name, violation.message)
        .comparing(violation.expected, violation.observed)
        .at(path)
}

fn nothing_exported(exports: &ExportSet) -> bool {
    *exports == ExportSet::default()
}

fn export_words<S: Serializer>(exports: &ExportSet, serializer: S) -> Result<S::Ok, S::Error> {
    exports.words().serialize(serializer)
}

fn speed_word<S: Serializer>(speed: &TransferSpeed, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(speed.as_str())
}
