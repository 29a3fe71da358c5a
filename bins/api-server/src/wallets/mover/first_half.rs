//! The order of the first half of a move: a withdrawal, or the deposit of idle money. It makes the
//! order, and begins nothing.

use alloy_primitives::U256;
use custody::Owner;
use exact::format_units;
use readings::Figure;
use readings::defi::market::Market;
use readings::defi::placement::market_of;
use wallet_actions::{Action, DivestOrder, InvestOrder, ListedProduct, Order, Size};
use watch_server::MoverError;
use yield_watch::Proposal;

use super::amounts::most_atoms;
use super::record::{Half, MoveRecord};
use super::{WalletMover, reason_of, unknown};

/// The growth that a complete withdrawal allows for: one part in 10,000. A position that would then
/// exceed the bound is withdrawn in part, because it earns until the withdrawal.
const SPARE: u64 = 10_000;

impl WalletMover {
    /// Makes the order of the first half. An error is the name of the reason against it.
    pub(super) async fn order(
        &self,
        owner: Owner,
        asked: &Proposal,
    ) -> Result<Result<Order, String>, MoverError> {
        let refuse = |reason: &str| Ok(Err(reason.to_owned()));
        let markets = self.markets().await?;
        let Some(to) = self.product_of(&markets, &asked.to.pool) else {
            return refuse("no_such_product");
        };
        let from = match &asked.from {
            None => None,
            Some(pool) => match self.product_of(&markets, &pool.pool) {
                Some(product) if product.chain_id != to.chain_id => return refuse("other_chain"),
                Some(product) if product.asset != to.asset => return refuse("other_asset"),
                Some(product) => Some(product),
                None => return refuse("no_such_position"),
            },
        };
        let unread = |refused| unknown(&reason_of(&refused));
        let (held, decimals) = match &from {
            Some(from) => {
                let positions = self.actions.positions(owner).await.map_err(unread)?;
                let mut positions = positions.into_iter();
                match positions.find(|position| position.product == *from) {
                    Some(position) => (position.assets, position.decimals),
                    None => return refuse("no_such_position"),
                }
            }
            None => {
                let idle = self.actions.idle(owner).await.map_err(unread)?;
                let of = (to.chain_id, to.asset);
                match idle.iter().find(|idle| (idle.chain_id, idle.asset) == of) {
                    Some(idle) => (idle.atoms, idle.decimals),
                    None => return refuse("nothing_idle"),
                }
            }
        };
        let price = self.price(to.chain_id, to.asset).await?;
        let Some(most) = most_atoms(asked.max_move_usd.0, decimals, price) else {
            return refuse("amount_out_of_range");
        };
        let amount = held.min(most);
        if amount.is_zero() {
            return refuse("max_move_too_small");
        }
        let record = MoveRecord::new(asked, &to, Figure(price), (amount, most, decimals));
        let action = match from {
            Some(from) => Action::Divest(DivestOrder {
                product: from.product_id,
                size: match held.saturating_add(held / U256::from(SPARE)) <= most {
                    true => Size::Ratio("1".to_owned()),
                    false => Size::Amount(format_units(amount, decimals)),
                },
            }),
            None => record.invest(amount),
        };
        Ok(Ok(record.order(owner, action)))
    }

    /// The reviewed product of a market, or the one with its id.
    fn product_of(&self, markets: &[Market], pool: &str) -> Option<ListedProduct> {
        self.actions.products().find(|product| {
            product.product_id == pool
                || market_of_product(markets, product).is_some_and(|market| market.pool == pool)
        })
    }
}

/// The second half of a first half, with the requested amount.
pub(super) fn second_of(first: &Order) -> Option<Order> {
    let second = MoveRecord::parse(&first.call)?.second();
    Some(second.order(first.owner, second.invest(second.amount)))
}

/// The market of a reviewed product.
pub(super) fn market_of_product<'a>(
    markets: &'a [Market],
    product: &ListedProduct,
) -> Option<&'a Market> {
    let ListedProduct {
        chain_id,
        protocol,
        ref product_id,
        asset,
        ..
    } = *product;
    market_of(markets, chain_id, protocol, product_id, asset)
}

impl MoveRecord {
    /// The deposit of `amount` into the product of the move.
    pub(super) fn invest(&self, amount: U256) -> Action {
        Action::Invest(InvestOrder {
            chain_id: self.chain_id,
            protocol: self.protocol.clone(),
            asset: self.asset.to_string(),
            amount: format_units(amount, self.decimals),
            product_id: Some(self.product_id.clone()),
            min_shares: None,
        })
    }

    /// The order of this half. It has no payer and answers no call.
    pub(super) fn order(&self, owner: Owner, action: Action) -> Order {
        Order {
            owner,
            owner_is_key: false,
            payment: self.half.payment_of(&self.key),
            claim: None,
            begin_by: None,
            purchase: None,
            call: self.text(),
            price_micro_usd: 0,
            charge: None,
            action,
            principal: None,
            deadline: Some(self.valid_until),
            max_slippage_bps: Some(u64::from(self.max_slippage_bps)),
            max_price_impact_bps: None,
        }
    }

    /// The same move as its second half stores it.
    pub(super) fn second(&self) -> Self {
        Self {
            half: Half::Second,
            ..self.clone()
        }
    }
}
