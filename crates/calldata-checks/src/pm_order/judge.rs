//! The judgements of the rail's table.

use alloy_primitives::{B256, U256};

use super::{
    CHAIN_ID, DOMAIN_NAME, DOMAIN_VERSION, DecodedOrder, Exchange, MAX_LIFE_SECONDS,
    MAX_READING_AGE_SECONDS, MAX_SALT, PmOrderFacts, PmOrderRequest, Side, TICKS, VENUE_VERSION,
    member::shown,
};
use crate::{
    Commitment, Decimal, Observed, Verdict, Violation, commitment::CLOCK_TOLERANCE_SECONDS,
};

/// Decimals of a size.
const SIZE_DECIMALS: u8 = 2;
/// Decimals of the finest price.
const PRICE_DECIMALS: u8 = 4;
/// Decimals of the collateral and of every outcome token.
const TOKEN_DECIMALS: u8 = 6;

impl PmOrderFacts {
    pub(super) fn judge_maker(&self) -> Verdict {
        let (request, order) = (&self.request, &self.decoded.order);
        if request.chain_id != CHAIN_ID {
            let message = "the account is on another chain than the venue";
            return Err(Violation::new(message, CHAIN_ID, request.chain_id));
        }
        for (message, observed) in [
            ("the maker is not the account", order.maker),
            ("the signer is not the account", order.signer),
        ] {
            if observed != request.account {
                return Err(Violation::new(message, request.account, observed));
            }
        }
        if order.signature_type != 0 {
            let message = "the signature is not of the kind that an EOA makes";
            return Err(Violation::new(message, 0, order.signature_type));
        }
        Ok(Observed::fixed(
            "maker and signer are the account, signatureType 0",
        ))
    }

    pub(super) fn judge_domain(&self) -> Verdict {
        let domain = &self.decoded.domain;
        for (message, expected, observed) in [
            (
                "the domain's name is another one",
                DOMAIN_NAME,
                &domain.name,
            ),
            (
                "the domain's version is another one",
                DOMAIN_VERSION,
                &domain.version,
            ),
        ] {
            if observed != expected {
                return Err(Violation::new(message, expected, shown(observed)));
            }
        }
        if domain.chain_id != CHAIN_ID {
            let message = "the domain's chain is another one";
            return Err(Violation::new(message, CHAIN_ID, domain.chain_id));
        }
        match Exchange::at(domain.verifying_contract) {
            Some(_) => Ok(Observed::fixed(
                "Polymarket CTF Exchange, version 2, chain 137",
            )),
            None => Err(Violation::new(
                "the verifying contract is not a reviewed exchange",
                Exchange::ALL
                    .map(|exchange| exchange.address().to_string())
                    .join(" or "),
                domain.verifying_contract,
            )),
        }
    }

    pub(super) fn judge_neg_risk(&self) -> Verdict {
        let exchange = Exchange::of_market(self.market.neg_risk);
        for (message, observed) in [
            (
                "the order is signed for the exchange of other markets",
                self.decoded.domain.verifying_contract,
            ),
            (
                "the approval is for another spender than this market's exchange",
                self.decoded.approval.spender,
            ),
        ] {
            if observed != exchange.address() {
                return Err(Violation::new(message, exchange.address(), observed));
            }
        }
        Ok(Observed::fixed(exchange.as_str()))
    }

    pub(super) fn judge_token(&self) -> Verdict {
        let (request, market) = (&self.request, &self.market);
        let token = self.decoded.order.token_id;
        if token != request.token_id {
            let message = "the token is not the requested one";
            return Err(Violation::new(message, request.token_id, token));
        }
        let Some((_, outcome)) = market.tokens.iter().find(|(id, _)| *id == token) else {
            let [(a, _), (b, _)] = &market.tokens;
            let message = "the token is none of the market's two";
            return Err(Violation::new(message, format_args!("{a} or {b}"), token));
        };
        if let Some(expected) = request.condition_id
            && expected != market.condition_id
        {
            let message = "the token is of another market";
            return Err(Violation::new(message, expected, market.condition_id));
        }
        if let Some(expected) = &request.outcome
            && expected != outcome
        {
            let message = "the token stands for another outcome";
            return Err(Violation::new(message, shown(expected), shown(outcome)));
        }
        let open = "accepting orders, order book, active, not closed";
        let states = [
            (
                market.accepting_orders,
                "accepting orders",
                "not accepting orders",
            ),
            (market.order_book, "order book", "no order book"),
            (market.active, "active", "not active"),
            (!market.closed, "not closed", "closed"),
        ];
        if states.iter().any(|(holds, ..)| !holds) {
            let state = states.map(|(holds, yes, no)| if holds { yes } else { no });
            return Err(Violation::new(
                "the market takes no orders",
                open,
                state.join(", "),
            ));
        }
        Ok(Observed::from(format!(
            "outcome {}, {open}",
            shown(outcome)
        )))
    }

    pub(super) fn judge_side(&self) -> Verdict {
        let (expected, observed) = (self.request.side, self.decoded.order.side);
        if observed != expected {
            let message = "the side is not the requested one";
            return Err(Violation::new(
                message,
                expected.as_str(),
                observed.as_str(),
            ));
        }
        let (needed, approval) = (expected.approval(), &self.decoded.approval);
        if approval.side != expected {
            let message = "the approval is by the function of the other side";
            let observed = approval.side.approval().function;
            return Err(Violation::new(message, needed.function, observed));
        }
        if approval.contract != needed.contract {
            let message = "the approval is of another token than the order gives";
            return Err(Violation::new(message, needed.contract, approval.contract));
        }
        Ok(Observed::fixed(observed.as_str()))
    }

    pub(super) fn judge_price(&self) -> Verdict {
        let (price, tick) = (self.request.price, self.market.tick_size);
        if !TICKS.contains(&tick) {
            let known = TICKS.map(|tick| tick.to_string()).join(", ");
            return Err(Violation::new(
                "the market's tick is not a known one",
                known,
                tick,
            ));
        }
        if !price.is_multiple_of(tick) {
            let expected = format_args!("a multiple of {tick}");
            return Err(Violation::new("the price is off the tick", expected, price));
        }
        // Every tick has at most four decimals, and so has every multiple.
        let units = |value: Decimal| value.atoms(PRICE_DECIMALS).unwrap_or(U256::MAX);
        let (low, one) = (units(tick), U256::from(10_000));
        if units(price) < low || units(price).saturating_add(low) > one {
            let expected = format_args!("{tick} to 1 - {tick}");
            return Err(Violation::new("the price is out of range", expected, price));
        }
        self.judge_reading()?;
        Ok(Observed::from(format!(
            "{price} at tick {tick}, read {}",
            self.market.read_at
        )))
    }

    /// The tick can change while a market trades: a reading is not used for long, and none is from
    /// the future.
    fn judge_reading(&self) -> Result<(), Violation> {
        let (read_at, commitment) = (self.market.read_at, &self.commitment);
        let latest = commitment.now.saturating_add(CLOCK_TOLERANCE_SECONDS);
        if read_at > latest {
            let expected = format_args!("at most {latest}");
            return Err(Violation::new(
                "the market was read in the future",
                expected,
                read_at,
            ));
        }
        let oldest = read_at.saturating_add(MAX_READING_AGE_SECONDS);
        if commitment.valid_until > oldest {
            return Err(Violation::new(
                "the plan outlives the reading of the market",
                format_args!("valid until {oldest} at most"),
                commitment.valid_until,
            ));
        }
        Ok(())
    }

    pub(super) fn judge_size(&self) -> Verdict {
        let (size, least) = (self.request.size, self.market.min_order_size);
        if size.scale() > SIZE_DECIMALS {
            let message = "the size is finer than the venue's lot";
            return Err(Violation::new(message, "at most 2 decimals", size));
        }
        if size.is_zero() || size < least {
            let message = "the size is below the market's minimum";
            return Err(Violation::new(
                message,
                format_args!("at least {least}"),
                size,
            ));
        }
        Ok(Observed::from(format!("{size}, minimum {least}")))
    }

    pub(super) fn judge_amounts(&self) -> Verdict {
        let (request, order) = (&self.request, &self.decoded.order);
        // Hundredths of a share times ten-thousandths of the collateral are the collateral's
        // millionths.
        let product = |size: Decimal, price: Decimal| {
            let shares = size.atoms(TOKEN_DECIMALS)?;
            let atoms = size
                .atoms(SIZE_DECIMALS)?
                .checked_mul(price.atoms(PRICE_DECIMALS)?)?;
            let cost = Decimal::new(u128::try_from(atoms).ok()?, TOKEN_DECIMALS).ok()?;
            Some((shares, atoms, cost))
        };
        let Some((shares, atoms, cost)) = product(request.size, request.price) else {
            let message = "size times price is no amount of the collateral";
            let observed = format!("{} times {}", request.size, request.price);
            return Err(Violation::new(
                message,
                "6 decimals, at most 36 digits",
                observed,
            ));
        };
        let (gives, gets) = match request.side {
            Side::Buy => (atoms, shares),
            Side::Sell => (shares, atoms),
        };
        for (message, expected, observed) in [
            (
                "makerAmount is not the exact product",
                gives,
                order.maker_amount,
            ),
            (
                "takerAmount is not the exact product",
                gets,
                order.taker_amount,
            ),
            (
                "the approval is of another amount",
                gives,
                self.decoded.approval.amount,
            ),
        ] {
            if observed != expected {
                return Err(Violation::new(message, expected, observed));
            }
        }
        self.judge_limits(cost)?;
        Ok(Observed::from(format!("maker {gives}, taker {gets}")))
    }

    /// The caller's own limits, against what the order costs or brings before the venue's fee.
    fn judge_limits(&self, cost: Decimal) -> Result<(), Violation> {
        let PmOrderRequest {
            side,
            max_cost,
            min_proceeds,
            ..
        } = &self.request;
        match (side, max_cost, min_proceeds) {
            (Side::Buy, _, Some(_)) => Err(Violation::new(
                "a purchase has no proceeds",
                "no minProceeds",
                "minProceeds",
            )),
            (Side::Sell, Some(_), _) => Err(Violation::new(
                "a sale has no cost",
                "no maxCost",
                "maxCost",
            )),
            (Side::Buy, Some(most), None) if cost > *most => {
                let expected = format_args!("at most {most}");
                Err(Violation::new(
                    "the purchase costs more than maxCost",
                    expected,
                    cost,
                ))
            }
            (Side::Sell, None, Some(least)) if cost < *least => {
                let expected = format_args!("at least {least}");
                Err(Violation::new(
                    "the sale brings less than minProceeds",
                    expected,
                    cost,
                ))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn judge_order_type(&self) -> Verdict {
        let (expected, observed) = (self.request.post_only, self.decoded.post_only);
        if observed != expected {
            return Err(Violation::new(
                "postOnly is not as requested",
                expected,
                observed,
            ));
        }
        Ok(Observed::fixed(if observed {
            "GTC, expiration 0, postOnly"
        } else {
            "GTC, expiration 0"
        }))
    }

    pub(super) fn judge_builder(&self) -> Verdict {
        let (order, builder) = (&self.decoded.order, &self.builder);
        if order.builder != builder.code {
            let message = "the builder code is not the configured one";
            return Err(Violation::new(message, builder.code, order.builder));
        }
        if !order.metadata.is_zero() {
            return Err(Violation::new(
                "the metadata is not zero",
                B256::ZERO,
                order.metadata,
            ));
        }
        let fee = match (order.builder.is_zero(), builder.fee) {
            (true, None) => {
                return Ok(Observed::fixed("no builder code, zero metadata"));
            }
            (false, Some(fee)) => fee,
            (is_none, _) => {
                let expected = if is_none { "no fee" } else { "the venue's fee" };
                let observed = if is_none { "a fee" } else { "none" };
                let message = "the builder fee does not go with the builder code";
                return Err(Violation::new(message, expected, observed));
            }
        };
        let most = builder.max_fee.get();
        let dearer = fee.maker_bps.max(fee.taker_bps);
        if Decimal::new(most.into(), 0).is_ok_and(|most| dearer > most) {
            return Err(Violation::new(
                "the builder fee is above the configured cap",
                format_args!("at most {most} bps"),
                format_args!("{dearer} bps"),
            ));
        }
        Ok(Observed::from(format!(
            "configured builder code: {} bps as maker, {} bps as taker, cap {most}; zero metadata",
            fee.maker_bps, fee.taker_bps
        )))
    }

    pub(super) fn judge_order_hash(&self) -> Verdict {
        let DecodedOrder {
            order,
            domain,
            order_hash,
            ..
        } = &self.decoded;
        let computed = order.hash(domain);
        if *order_hash != computed {
            let message = "the order hash is not that of the typed data";
            return Err(Violation::new(message, computed, order_hash));
        }
        if order.salt > U256::from(MAX_SALT) {
            let message = "the salt is more than a JSON number holds";
            let expected = format_args!("at most {MAX_SALT}");
            return Err(Violation::new(message, expected, order.salt));
        }
        let Commitment {
            now, valid_until, ..
        } = self.commitment;
        let (earliest, latest) = (
            valid_until
                .unix_millis()
                .saturating_sub(MAX_LIFE_SECONDS * 1000),
            now.saturating_add(CLOCK_TOLERANCE_SECONDS)
                .min(valid_until)
                .unix_millis(),
        );
        if order.timestamp < U256::from(earliest) || order.timestamp > U256::from(latest) {
            return Err(Violation::new(
                "the timestamp is not in milliseconds within the plan's life",
                format_args!("{earliest} to {latest}"),
                order.timestamp,
            ));
        }
        Ok(Observed::from(computed.to_string()))
    }

    pub(super) fn judge_version(&self) -> Verdict {
        if self.market.version != VENUE_VERSION {
            let message = "the venue speaks another version";
            return Err(Violation::new(message, VENUE_VERSION, self.market.version));
        }
        Ok(Observed::fixed("version 2"))
    }
}
