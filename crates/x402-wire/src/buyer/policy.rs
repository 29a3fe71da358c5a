//! A buyer's spend policy: the offers that it may sign.

use alloy_primitives::{Address, U256};

use super::{Budget, Choice, NoOffer, NotChosen, Refusal};
use crate::{
    Asset, AssetName, MAX_WINDOW_SECONDS, MIN_REMAINING_SECONDS, Network, PaymentRequired,
    PaymentRequirements, Scheme, clip,
};

/// One asset that a buyer pays with, on one network, with a cap for each payment.
///
/// # Example
/// ```
/// use alloy_primitives::{U256, address};
/// use x402_wire::{Asset, Network, buyer::Allowance};
///
/// let [usdt0, ..] = Asset::chain_196();
/// let allowance = Allowance::of(&usdt0, Network::evm(196), U256::from(20_000))
///     .only_to([address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906")]);
/// # let _ = allowance;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Allowance {
    network: Network,
    asset: Address,
    cap: U256,
    domain: Option<AssetName>,
    payees: Option<Vec<Address>>,
}

impl Allowance {
    /// Allows payments of at most `cap` (in the asset's smallest unit) to anyone. The offer
    /// supplies name and version of the asset's domain: if they are wrong, the signature is void.
    #[must_use]
    pub fn new(network: Network, asset: Address, cap: U256) -> Self {
        Self {
            network,
            asset,
            cap,
            domain: None,
            payees: None,
        }
    }

    /// Like [`Self::new`], but allows only offers that name the asset's domain as `asset` does.
    #[must_use]
    pub fn of(asset: &Asset, network: Network, cap: U256) -> Self {
        Self {
            domain: Some(AssetName {
                name: asset.name.clone(),
                version: asset.version.clone(),
            }),
            ..Self::new(network, asset.address, cap)
        }
    }

    /// Restricts the allowance to these payees.
    #[must_use]
    pub fn only_to(self, payees: impl IntoIterator<Item = Address>) -> Self {
        Self {
            payees: Some(payees.into_iter().collect()),
            ..self
        }
    }

    /// Judges an offer of this allowance's network and asset.
    fn judge(&self, offer: &PaymentRequirements, budget: &Budget) -> Result<(), Refusal> {
        let payees = self.payees.as_ref();
        if payees.is_some_and(|payees| !payees.contains(&offer.pay_to)) {
            return Err(Refusal::Payee {
                observed: offer.pay_to,
            });
        }
        if let Some(expected) = self.domain.as_ref().filter(|name| **name != offer.extra) {
            return Err(Refusal::Domain {
                expected: expected.clone(),
                observed: AssetName {
                    name: clip(&offer.extra.name),
                    version: clip(&offer.extra.version),
                },
            });
        }
        if offer.max_timeout_seconds < MIN_REMAINING_SECONDS {
            return Err(Refusal::Window {
                observed: offer.max_timeout_seconds,
            });
        }
        let observed = offer.amount;
        if observed > self.cap {
            return Err(Refusal::AboveCap {
                cap: self.cap,
                observed,
            });
        }
        let left = budget.left(self.network, self.asset);
        if observed > left {
            return Err(Refusal::AboveBudget { left, observed });
        }
        Ok(())
    }
}

/// A buyer's rules for signing: allowances in the order of preference, and the longest life of an
/// authorization.
///
/// # Example
/// ```
/// use alloy_primitives::U256;
/// use x402_wire::{Asset, Network, buyer::{Allowance, SpendPolicy}};
///
/// // USD Coin is preferred. An authorization lives for two minutes at most.
/// let ([usdt0, usdc, _], xlayer) = (Asset::chain_196(), Network::evm(196));
/// let policy = SpendPolicy::new([
///     Allowance::of(&usdc, xlayer, U256::from(20_000)),
///     Allowance::of(&usdt0, xlayer, U256::from(20_000)),
/// ])
/// .with_window(120);
/// # let _ = policy;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpendPolicy {
    allowances: Vec<Allowance>,
    window: u64,
}

impl SpendPolicy {
    /// The longest life of an authorization, in seconds, unless [`Self::with_window`] says
    /// otherwise.
    pub const DEFAULT_WINDOW: u64 = 600;

    /// Creates a policy of these allowances, the preferred one first.
    #[must_use]
    pub fn new(allowances: impl IntoIterator<Item = Allowance>) -> Self {
        Self {
            allowances: allowances.into_iter().collect(),
            window: Self::DEFAULT_WINDOW,
        }
    }

    /// Sets the longest life of an authorization, in seconds. Values outside
    /// [`MIN_REMAINING_SECONDS`] to [`MAX_WINDOW_SECONDS`] become the nearer bound. An offer with a
    /// longer time is paid with this shorter one.
    #[must_use]
    pub fn with_window(self, seconds: u64) -> Self {
        Self {
            window: seconds.clamp(MIN_REMAINING_SECONDS, MAX_WINDOW_SECONDS),
            ..self
        }
    }

    /// Chooses one offer of a challenge: the first allowance that an offer satisfies decides, then
    /// the lower amount, then the seller's order. The budget does not change.
    ///
    /// The choice also carries the reason why every other offer was not chosen.
    ///
    /// # Errors
    /// [`NoOffer`] with the refusal of each offer. Where several allowances name the asset, the
    /// refusal is that of the last one.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::U256;
    /// use x402_wire::buyer::{Allowance, Budget, Refusal, SpendPolicy};
    /// use x402_wire::{Asset, Network, PaymentRequired};
    ///
    /// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// let challenge = PaymentRequired::from_json(json.as_bytes())?; // USD₮0 for 2000
    /// let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// let budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    ///
    /// let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(2_000))]);
    /// assert_eq!(policy.choose(&challenge, &budget)?.index(), 3);
    ///
    /// let tight = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(1_999))]);
    /// let none = tight.choose(&challenge, &budget).unwrap_err();
    /// assert!(matches!(none.refusals[3].refusal, Refusal::AboveCap { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose(&self, challenge: &PaymentRequired, budget: &Budget) -> Result<Choice, NoOffer> {
        let mut allowed = Vec::new();
        let mut others = Vec::new();
        for (index, entry) in challenge.accepts.iter().enumerate() {
            let judged = match (entry.known(), entry.unknown()) {
                (Some(offer), _) => self.rank(offer, budget).map(|rank| (rank, offer)),
                (None, unknown) => Err(unknown.cloned().map_or(Refusal::Session, Refusal::from)),
            };
            match judged {
                Ok((rank, offer)) => allowed.push(((rank, offer.amount, index), offer, entry)),
                Err(refusal) => others.push(NotChosen { index, refusal }),
            }
        }
        let best = allowed.iter().min_by_key(|(order, ..)| *order);
        let Some(&((_, _, chosen), offer, entry)) = best else {
            return Err(NoOffer { refusals: others });
        };
        let preferred = allowed.iter().map(|((_, _, index), ..)| *index);
        others.extend(
            preferred
                .filter(|index| *index != chosen)
                .map(|index| NotChosen {
                    index,
                    refusal: Refusal::NotPreferred { chosen },
                }),
        );
        others.sort_by_key(|other| other.index);
        let window = self.window.min(offer.max_timeout_seconds);
        Ok(Choice::new(chosen, offer, entry, others, window, challenge))
    }

    /// Returns the position of the first allowance that an offer satisfies.
    fn rank(&self, offer: &PaymentRequirements, budget: &Budget) -> Result<usize, Refusal> {
        if offer.scheme != Scheme::Exact {
            return Err(Refusal::Session);
        }
        let mut refusal = Refusal::Network {
            observed: offer.network,
        };
        for (rank, allowance) in self.allowances.iter().enumerate() {
            if allowance.network != offer.network {
                continue;
            }
            if allowance.asset == offer.asset {
                match allowance.judge(offer, budget) {
                    Ok(()) => return Ok(rank),
                    Err(judged) => refusal = judged,
                }
            } else if matches!(refusal, Refusal::Network { .. }) {
                refusal = Refusal::Asset {
                    observed: offer.asset,
                };
            }
        }
        Err(refusal)
    }
}
