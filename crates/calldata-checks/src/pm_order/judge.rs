//! The judgements of a prediction-market order: account, exchange, token, market, side, builder and
//! hash. [`figures`] judges price, size and amounts.

mod figures;

use alloy_primitives::{B256, U256};

use super::{
    CHAIN_ID, DOMAIN_NAME, DOMAIN_VERSION, DecodedOrder, Exchange, MAX_LIFE_SECONDS, MAX_SALT,
    PmOrderFacts, VENUE_VERSION, member::shown,
};
use crate::{
    Commitment, Decimal, Observed, Verdict, Violation, commitment::CLOCK_TOLERANCE_SECONDS,
};

/// The readings of most checks that rest on readings.
const MARKET: &str = "the venue's description of the market";

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
            ("the domain has another name", DOMAIN_NAME, &domain.name),
            (
                "the domain has another version",
                DOMAIN_VERSION,
                &domain.version,
            ),
        ] {
            if observed != expected {
                return Err(Violation::new(message, expected, shown(observed)));
            }
        }
        if domain.chain_id != CHAIN_ID {
            let message = "the domain has another chain";
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
        Ok(Observed::fixed(exchange.as_str()).by_readings(MARKET))
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
        Ok(Observed::from(format!("outcome {}, {open}", shown(outcome))).by_readings(MARKET))
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
        ))
        .by_readings("the venue's fee of the code"))
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
        Ok(Observed::fixed("version 2").by_readings("the venue's version"))
    }
}
