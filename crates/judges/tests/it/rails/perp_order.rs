//! Generates orders for the perpetuals venue. The test holds the key of each order's account.

use alloy_primitives::{Address, hex};
use calldata_checks::fees::PerpBuilder;
use calldata_checks::{Decimal, Rail};
use plan_builder::ports::{PerpAsset, PerpVenue, PortError, Simulator};
use plan_builder::{Moment, Policy, Refusal, Request, Sealed, perp_order};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{Case, Signer, addresses, moment, now, policy_with, signers};

/// An order with its protections.
#[derive(Debug, Clone)]
pub(crate) struct PerpCase {
    pub(crate) signer: Signer,
    pub(crate) vault: Option<Address>,
    pub(crate) asset: Asset,
    pub(crate) buys: bool,
    pub(crate) price: Decimal,
    pub(crate) size: Decimal,
    pub(crate) tif: &'static str,
    pub(crate) reduce_only: bool,
    pub(crate) cloid: Option<[u8; 16]>,
    pub(crate) take_profit: Option<Trigger>,
    pub(crate) stop_loss: Option<Trigger>,
    pub(crate) builder: Option<PerpBuilder>,
    pub(crate) entropy: [u8; 32],
}

/// A coin's place in the venue's lists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asset {
    pub(crate) coin: &'static str,
    pub(crate) dex: &'static str,
    pub(crate) dex_index: u32,
    pub(crate) universe_index: u32,
    pub(crate) size_decimals: u8,
}

/// A requested protection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trigger {
    pub(crate) price: Decimal,
    pub(crate) limit: Option<Decimal>,
}

impl Asset {
    pub(crate) const fn id(self) -> u32 {
        match self.dex_index {
            0 => self.universe_index,
            dex => 100_000 + 10_000 * dex + self.universe_index,
        }
    }
}

impl Trigger {
    fn argument(self) -> Value {
        match self.limit {
            None => json!({"triggerPrice": self.price.to_string()}),
            Some(limit) => {
                json!({"triggerPrice": self.price.to_string(), "limitPrice": limit.to_string()})
            }
        }
    }
}

impl Case for PerpCase {
    const RAIL: Rail = Rail::PerpOrder;

    fn arguments(&self) -> Value {
        let mut arguments = json!({
            "accountProfile": {"kind": "eoa", "address": self.signer.address},
            "coin": self.asset.coin,
            "side": if self.buys { "buy" } else { "sell" },
            "price": self.price.to_string(),
            "size": self.size.to_string(),
            "tif": self.tif,
            "reduceOnly": self.reduce_only,
        });
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                arguments[name] = value;
            }
        };
        set("vaultAddress", self.vault.map(|vault| json!(vault)));
        set(
            "cloid",
            self.cloid.map(|cloid| json!(hex::encode_prefixed(cloid))),
        );
        set("takeProfit", self.take_profit.map(Trigger::argument));
        set("stopLoss", self.stop_loss.map(Trigger::argument));
        arguments
    }

    fn policy(&self) -> Policy {
        policy_with(|fees| {
            if let Some(PerpBuilder {
                address,
                fee_tenth_bps,
            }) = self.builder
            {
                fees["perpetuals"]["builder"] = json!(address);
                fees["perpetuals"]["fee_tenth_bps"] = json!(fee_tenth_bps);
            }
        })
    }

    fn moment(&self) -> Moment {
        moment(self.entropy)
    }

    async fn build(
        &self,
        request: &Request,
        _: &impl Simulator,
        policy: &Policy,
        moment: &Moment,
    ) -> Result<Sealed, Refusal> {
        let Request::PerpOrder(request) = request else {
            panic!("an order")
        };
        perp_order::build(request, self, policy, moment).await
    }
}

impl PerpVenue for PerpCase {
    async fn asset(&self, coin: &str) -> Result<PerpAsset, PortError> {
        assert_eq!(coin, self.asset.coin);
        Ok(PerpAsset {
            coin: coin.to_owned(),
            dex: self.asset.dex.to_owned(),
            dex_index: self.asset.dex_index,
            universe_index: self.asset.universe_index,
            asset_id: self.asset.id(),
            size_decimals: self.asset.size_decimals,
            max_leverage: 40,
            delisted: false,
            collateral_token: u32::from(self.asset.dex == "flx"),
            collateral: if self.asset.dex == "flx" {
                "USDH"
            } else {
                "USDC"
            }
            .to_owned(),
            mark_price: Some(self.price),
            read_at: now(),
        })
    }

    async fn max_builder_fee(&self, user: Address, builder: Address) -> Result<u64, PortError> {
        assert_eq!(user, self.signer.address);
        assert_eq!(Some(builder), self.builder.map(|builder| builder.address));
        Ok(100)
    }
}

const ASSETS: [Asset; 6] = [
    asset("BTC", "", 0, 0, 5),
    asset("ETH", "", 0, 1, 4),
    asset("kPEPE", "", 0, 110, 0),
    asset("SOL", "", 0, 300, 2),
    asset("xyz:TSLA", "xyz", 1, 7, 3),
    asset("flx:GOLD", "flx", 2, 213, 1),
];

const fn asset(
    coin: &'static str,
    dex: &'static str,
    dex_index: u32,
    universe_index: u32,
    size_decimals: u8,
) -> Asset {
    Asset {
        coin,
        dex,
        dex_index,
        universe_index,
        size_decimals,
    }
}

/// The random values from which a [`PerpCase`] is computed.
#[derive(Debug, Clone)]
struct Drawn {
    signer: Signer,
    vault: Option<Address>,
    asset: Index,
    buys: bool,
    /// Three prices in one unit.
    prices: [u32; 3],
    scale: Index,
    size: u64,
    tif: Index,
    reduce_only: bool,
    cloid: Option<[u8; 16]>,
    /// The protections, each with the distance of its limit price in hundredths of the trigger
    /// price, if it has one.
    protections: [Option<Option<u32>>; 2],
    builder: Option<(Address, u16)>,
    entropy: [u8; 32],
}

/// Orders that pass every check.
pub(crate) fn orders() -> impl Strategy<Value = PerpCase> {
    let account = (signers(), proptest::option::of(addresses()));
    // The prices have at most five digits, and enough that a tenth of a price is many ticks.
    let order = (
        any::<Index>(),
        any::<bool>(),
        [1_000u32..=90_000, 1_000u32..=90_000, 1_000u32..=90_000],
        any::<Index>(),
        1u64..=1_000_000_000,
        any::<Index>(),
        any::<bool>(),
        proptest::option::of(any::<[u8; 16]>()),
    );
    let protection = || proptest::option::of(proptest::option::of(0u32..=10));
    let rest = (
        [protection(), protection()],
        proptest::option::of((addresses(), 1u16..=100)),
        any::<[u8; 32]>(),
    );
    (account, order, rest).prop_filter_map(
        "prices that differ",
        |((signer, vault), order, (protections, builder, entropy))| {
            let (asset, buys, prices, scale, size, tif, reduce_only, cloid) = order;
            Drawn {
                signer,
                vault,
                asset,
                buys,
                prices,
                scale,
                size,
                tif,
                reduce_only,
                cloid,
                protections,
                builder,
                entropy,
            }
            .case()
        },
    )
}

impl Drawn {
    fn case(self) -> Option<PerpCase> {
        let asset = *self.asset.get(&ASSETS);
        let scale = u8::try_from(self.scale.index(usize::from(7 - asset.size_decimals))).ok()?;
        let mut prices = self.prices;
        prices.sort_unstable();
        let [low, entry, high] = prices;
        if low == entry || entry == high {
            return None;
        }
        let price = |units: u32| Decimal::new(units.into(), scale).ok();
        let trigger = |units: u32, protection: Option<Option<u32>>| {
            let Some(distance) = protection else {
                return Some(None);
            };
            let limit = distance.map(|hundredths| match self.buys {
                true => units - units * hundredths / 100,
                false => units + units * hundredths / 100,
            });
            Some(Some(Trigger {
                price: price(units)?,
                limit: match limit {
                    Some(units) => Some(price(units)?),
                    None => None,
                },
            }))
        };
        let (profit, loss) = if self.buys { (high, low) } else { (low, high) };
        let [take_profit, stop_loss] = self.protections;
        let (take_profit, stop_loss) = (trigger(profit, take_profit)?, trigger(loss, stop_loss)?);
        let entry = price(entry)?;

        let mut size = Decimal::new(self.size.into(), asset.size_decimals).ok()?;
        let least: Decimal = "10".parse().ok()?;
        while entry.checked_mul(size).ok()? < least {
            size = Decimal::new(size.mantissa() * 1_000, size.scale()).ok()?;
        }
        let protected = take_profit.is_some() || stop_loss.is_some();
        Some(PerpCase {
            signer: self.signer,
            vault: self.vault,
            asset,
            buys: self.buys,
            price: entry,
            size,
            tif: ["Gtc", "Ioc", "Alo"][self.tif.index(3)],
            reduce_only: self.reduce_only && !protected,
            cloid: self.cloid,
            take_profit,
            stop_loss,
            builder: self.builder.map(|(address, fee_tenth_bps)| PerpBuilder {
                address,
                fee_tenth_bps,
            }),
            entropy: self.entropy,
        })
    }
}
