//! The chosen offer, and how it becomes an authorization.

use alloy_primitives::{Address, B256, U256};
use thiserror::Error;

use super::{Budget, BudgetExceeded, NotChosen, UnsignedPayment};
use crate::extensions::Identifier;
use crate::{
    AcceptsEntry, AssetName, Authorization, Extensions, PaymentId, PaymentRequired,
    PaymentRequirements, Resource, Scheme, clip,
};

/// The offer that a [`SpendPolicy`](super::SpendPolicy) chose.
///
/// # Example
/// ```
/// # use alloy_primitives::U256;
/// # use x402_wire::buyer::{Allowance, Budget, SpendPolicy};
/// # use x402_wire::{Asset, Network, PaymentRequired};
/// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
/// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
/// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
/// # let budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
/// # let choice = policy.choose(&PaymentRequired::from_json(json.as_bytes())?, &budget)?;
/// assert_eq!((choice.index(), choice.offer().amount), (3, U256::from(2_000)));
/// for other in choice.not_chosen() {
///     println!("{} ({other})", other.refusal.code());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    index: usize,
    offer: PaymentRequirements,
    entry: AcceptsEntry,
    others: Vec<NotChosen>,
    window: u64,
    resource: Resource,
    extensions: Extensions,
}

/// The caller's part of a payment: payer, time, nonce and, optionally, an identifier.
///
/// # Example
/// ```
/// use alloy_primitives::{B256, address};
/// use x402_wire::{PaymentId, buyer::Purchase};
///
/// let payer = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
/// let (now, random) = (1_795_219_200, [7; 48]); // from the clock and the system's random generator
/// let (nonce, id) = random.split_at(32);
/// let purchase = Purchase::new(payer, now, B256::from_slice(nonce))
///     .with_id(PaymentId::from_random(id.try_into()?));
/// assert_eq!(purchase.nonce, B256::repeat_byte(7));
/// # Ok::<(), std::array::TryFromSliceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Purchase {
    /// The account that pays and signs.
    pub payer: Address,
    /// The current time, in Unix seconds.
    pub now: u64,
    /// 32 random bytes. A token accepts each nonce of a payer once.
    pub nonce: B256,
    /// The identifier of the purchase. It is sent if the seller has the extension
    /// `payment-identifier`.
    pub payment_id: Option<PaymentId>,
}

impl Purchase {
    /// Creates a purchase without an identifier. The nonce must be random.
    #[must_use]
    pub fn new(payer: Address, now: u64, nonce: B256) -> Self {
        Self {
            payer,
            now,
            nonce,
            payment_id: None,
        }
    }

    /// Returns the purchase with an identifier. Use the same identifier for every attempt at the
    /// same purchase.
    #[must_use]
    pub fn with_id(self, id: PaymentId) -> Self {
        Self {
            payment_id: Some(id),
            ..self
        }
    }
}

/// Why a choice does not become an authorization.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum AuthorizeError {
    /// The budget has too little left.
    #[error(transparent)]
    Budget(#[from] BudgetExceeded),
    /// The seller requires a payment identifier.
    #[error("the seller requires a payment identifier")]
    PaymentIdRequired,
    /// [`Purchase::now`] is after the year 9999, as a time in milliseconds would be. The
    /// authorization would last for thousands of years.
    #[error("now: expected unix seconds, observed {observed}")]
    Time {
        /// The value.
        observed: u64,
    },
}

impl AuthorizeError {
    /// Returns the stable name of this reason.
    ///
    /// # Example
    /// ```
    /// use x402_wire::buyer::AuthorizeError;
    ///
    /// assert_eq!(AuthorizeError::PaymentIdRequired.code(), "payment_id_required");
    /// ```
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Budget(_) => "above_budget",
            Self::PaymentIdRequired => "payment_id_required",
            Self::Time { .. } => "time_not_in_seconds",
        }
    }
}

/// The last second of the year 9999.
const LATEST: u64 = 253_402_300_799;

/// Why a later challenge for the same purchase no longer offers the chosen terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum TermsChanged {
    /// The amount differs.
    #[error("the amount was {expected} and is {observed}")]
    Amount {
        /// The amount of the choice.
        expected: U256,
        /// The amount that the seller asks for now.
        observed: U256,
    },
    /// The payee differs.
    #[error("the payee was {expected} and is {observed}")]
    Payee {
        /// The payee of the choice.
        expected: Address,
        /// The payee that the seller names now.
        observed: Address,
    },
    /// The name or the version of the asset's domain differs.
    #[error(
        "the asset's domain was `{}` version `{}` and is `{}` version `{}`",
        clip(&expected.name), clip(&expected.version), clip(&observed.name), clip(&observed.version)
    )]
    Domain {
        /// The name and the version of the choice.
        expected: AssetName,
        /// The name and the version that the seller gives now.
        observed: AssetName,
    },
    /// No `exact` offer names the asset on its network any more.
    #[error("the asset {expected} is not offered any more")]
    Asset {
        /// The asset of the choice.
        expected: Address,
    },
}

impl TermsChanged {
    /// Returns the stable name of this reason.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::Address;
    /// use x402_wire::buyer::TermsChanged;
    ///
    /// let changed = TermsChanged::Asset { expected: Address::ZERO };
    /// assert_eq!(changed.code(), "asset_withdrawn");
    /// ```
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Amount { .. } => "amount_changed",
            Self::Payee { .. } => "payee_changed",
            Self::Domain { .. } => "domain_changed",
            Self::Asset { .. } => "asset_withdrawn",
        }
    }
}

impl Choice {
    pub(super) fn new(
        index: usize,
        offer: &PaymentRequirements,
        entry: &AcceptsEntry,
        others: Vec<NotChosen>,
        window: u64,
        challenge: &PaymentRequired,
    ) -> Self {
        Self {
            index,
            offer: offer.clone(),
            entry: entry.clone(),
            others,
            window,
            resource: challenge.resource.clone(),
            extensions: challenge.extensions.clone(),
        }
    }

    /// Returns the position of the offer in `accepts`, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the offer.
    #[must_use]
    pub fn offer(&self) -> &PaymentRequirements {
        &self.offer
    }

    /// Returns the offer's JSON as it came. The payment echoes it.
    ///
    /// # Example
    /// ```
    /// # use alloy_primitives::U256;
    /// # use x402_wire::{Asset, Network, buyer::{Allowance, Budget, SpendPolicy}};
    /// # use x402_wire::PaymentRequired;
    /// # let raw = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// let choice = policy.choose(&PaymentRequired::from_json(raw.as_bytes())?, &budget)?;
    /// assert!(choice.offer_json().contains("future")); // a member that the crate does not know
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn offer_json(&self) -> &str {
        self.entry.json()
    }

    /// Returns the other offers in the seller's order, each with the reason why it was not chosen.
    #[must_use]
    pub fn not_chosen(&self) -> &[NotChosen] {
        &self.others
    }

    /// Whether the seller accepts a payment identifier.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{Extensions, PaymentRequired};
    /// # use alloy_primitives::U256;
    /// # use x402_wire::{Asset, Network, buyer::{Allowance, Budget, SpendPolicy}};
    ///
    /// # let raw = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// let mut challenge = PaymentRequired::from_json(raw.as_bytes())?;
    /// assert!(policy.choose(&challenge, &budget)?.takes_payment_id());
    ///
    /// challenge.extensions = Extensions::default();
    /// assert!(!policy.choose(&challenge, &budget)?.takes_payment_id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn takes_payment_id(&self) -> bool {
        self.extensions.payment_identifier().is_some()
    }

    /// Makes the authorization, and takes its amount out of the budget. The authorization is valid
    /// immediately. It ends after the offer's time or the policy's window, whichever is shorter.
    ///
    /// # Errors
    /// [`AuthorizeError`]; the budget is unchanged.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::{B256, U256, address};
    /// use x402_wire::buyer::{AuthorizeError, Purchase};
    /// # use x402_wire::buyer::{Allowance, Budget, SpendPolicy};
    /// # use x402_wire::{Asset, Network, PaymentRequired};
    ///
    /// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let mut budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// # let choice = policy.choose(&PaymentRequired::from_json(json.as_bytes())?, &budget)?;
    /// # let payer = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// let purchase = Purchase::new(payer, 1_795_219_200, B256::repeat_byte(7));
    /// let unsigned = choice.authorize(purchase.clone(), &mut budget)?;
    /// assert_eq!(unsigned.authorization().valid_before, U256::from(1_795_219_800));
    /// assert_eq!(budget.left(xlayer, usdt0.address), U256::from(998_000));
    ///
    /// budget.take(xlayer, usdt0.address, U256::from(997_000))?;
    /// let refused = choice.authorize(purchase, &mut budget);
    /// assert!(matches!(refused, Err(AuthorizeError::Budget(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn authorize(
        &self,
        purchase: Purchase,
        budget: &mut Budget,
    ) -> Result<UnsignedPayment, AuthorizeError> {
        let taken = self.extensions.payment_identifier();
        let payment_id = purchase.payment_id.filter(|_| taken.is_some());
        if taken == Some(Identifier::Required) && payment_id.is_none() {
            return Err(AuthorizeError::PaymentIdRequired);
        }
        if purchase.now > LATEST {
            return Err(AuthorizeError::Time {
                observed: purchase.now,
            });
        }
        let PaymentRequirements {
            network,
            asset,
            amount,
            pay_to,
            ..
        } = self.offer;
        budget.take(network, asset, amount)?;
        let authorization = Authorization {
            from: purchase.payer,
            to: pay_to,
            value: amount,
            valid_after: U256::ZERO,
            valid_before: U256::from(purchase.now.saturating_add(self.window)),
            nonce: purchase.nonce,
        };
        Ok(UnsignedPayment::new(
            self.clone(),
            authorization,
            payment_id,
        ))
    }

    /// Checks that a later challenge for the same purchase still offers the chosen terms.
    ///
    /// # Errors
    /// [`TermsChanged`] with the member that differs. Do not sign a new authorization while an
    /// earlier payment for the purchase may still be settled.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{PaymentRequired, buyer::TermsChanged};
    /// # use alloy_primitives::U256;
    /// # use x402_wire::{Asset, Network, buyer::{Allowance, Budget, SpendPolicy}};
    ///
    /// # let raw = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// let challenge = PaymentRequired::from_json(raw.as_bytes())?;
    /// let choice = policy.choose(&challenge, &budget)?;
    /// assert_eq!(choice.still_offered(&challenge), Ok(()));
    ///
    /// let dearer = raw.replace("\"amount\": \"2000\"", "\"amount\": \"3000\"");
    /// let changed = choice.still_offered(&PaymentRequired::from_json(dearer.as_bytes())?);
    /// assert!(matches!(changed, Err(TermsChanged::Amount { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn still_offered(&self, challenge: &PaymentRequired) -> Result<(), TermsChanged> {
        still_offered(&self.offer, challenge)
    }

    pub(super) fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Returns the seller's extensions, with the buyer's identifier. The protocol requires that a
    /// payment sends them back.
    pub(super) fn extensions(&self, id: Option<&PaymentId>) -> Extensions {
        id.map_or_else(
            || self.extensions.clone(),
            |id| self.extensions.with_payment_id(id),
        )
    }
}

/// Checks that a challenge offers the same terms as an earlier one.
pub(super) fn still_offered(
    ours: &PaymentRequirements,
    challenge: &PaymentRequired,
) -> Result<(), TermsChanged> {
    let mut changed = TermsChanged::Asset {
        expected: ours.asset,
    };
    let same_asset = challenge.options().filter(|theirs| {
        theirs.scheme == Scheme::Exact
            && theirs.network == ours.network
            && theirs.asset == ours.asset
    });
    for theirs in same_asset {
        if theirs.pay_to != ours.pay_to {
            changed = TermsChanged::Payee {
                expected: ours.pay_to,
                observed: theirs.pay_to,
            };
        } else if theirs.amount != ours.amount {
            changed = TermsChanged::Amount {
                expected: ours.amount,
                observed: theirs.amount,
            };
        } else if theirs.extra != ours.extra {
            changed = TermsChanged::Domain {
                expected: ours.extra.clone(),
                observed: theirs.extra.clone(),
            };
        } else {
            return Ok(());
        }
    }
    Err(changed)
}
