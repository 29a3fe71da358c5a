//! Makes the payload of a request from the venue's readings. The checks judge the payload before
//! anyone sees it.

use alloy_primitives::B256;
use alloy_sol_types::{SolStruct as _, eip712_domain, sol};
use calldata_checks::{
    Decimal, FeePolicy, Violation,
    perp_order::{
        AGENT_TYPE, COMPUTED, CONNECTION_ID_FORMULA, DOMAIN_TYPE, ENDPOINT, Grouping, KIND,
        PRIMARY_TYPE, Protection, Side, hash,
    },
};

use super::{
    PerpOrderRequest, SIGNING_CHAIN_ID,
    action::{ActionRecord, BuilderRecord, KindRecord, LimitRecord, OrderRecord, TriggerRecord},
    payload::{
        CollateralRecord, Disclosures, DomainRecord, ExampleRecord, LowerAddress, Member, Message,
        PerpOrderPayload, RecipeRecord, Types, VenueRecord,
    },
    request::TriggerRequest,
    triggers::worst_price,
};
use crate::{
    Refusal, digest,
    ports::PerpAsset,
    wire::{Eip55, Exact, Hex, Label, Text, Time, Word},
};

sol! {
    /// The message that an account of the venue signs.
    struct Agent {
        string source;
        bytes32 connectionId;
    }
}

/// The values from which a payload is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft<'a> {
    pub(super) request: &'a PerpOrderRequest,
    pub(super) asset: &'a PerpAsset,
    /// The fee that the account has approved for the configured builder, in tenths of a basis
    /// point.
    pub(super) approved_builder_fee: Option<u64>,
    pub(super) fees: &'a FeePolicy,
    /// In milliseconds of Unix time.
    pub(super) nonce: u64,
    /// In milliseconds of Unix time.
    pub(super) expires_after: u64,
}

impl Draft<'_> {
    /// Makes the payload.
    ///
    /// # Errors
    /// `perp_tpsl_limit_bound` when the limit price of a market trigger has more digits than a
    /// price.
    pub(super) fn payload(self) -> Result<PerpOrderPayload, Refusal> {
        let (request, asset) = (self.request, self.asset);
        let action = self.action()?;
        let action_msgpack = action.msgpack().ok_or_else(|| {
            Refusal::new(
                Refusal::PLAN_MALFORMED,
                "the action cannot be written as msgpack",
            )
        })?;
        let example = self.example(&action_msgpack);
        let vault_address = request.vault_address.map(LowerAddress);
        Ok(PerpOrderPayload {
            steps: [],
            kind: KIND.into(),
            endpoint: ENDPOINT.into(),
            order_owner: Eip55::of(request.account_profile.address),
            action,
            action_msgpack: Hex(action_msgpack.into()),
            recipe: RecipeRecord {
                connection_id: CONNECTION_ID_FORMULA.into(),
                vault_address,
                expires_after: Some(self.expires_after),
                preimage_suffix_template: suffix_template(vault_address).into(),
                domain: DomainRecord {
                    name: "Exchange".into(),
                    version: "1".into(),
                    chain_id: SIGNING_CHAIN_ID,
                    verifying_contract: Eip55::of(alloy_primitives::Address::ZERO),
                },
                types: Types {
                    domain: DOMAIN_TYPE.map(member).to_vec(),
                    agent: AGENT_TYPE.map(member).to_vec(),
                },
                primary_type: PRIMARY_TYPE.into(),
                message: Message {
                    source: hash::MAINNET_SOURCE.into(),
                    connection_id: COMPUTED.into(),
                },
            },
            example,
            venue: VenueRecord {
                collateral: CollateralRecord {
                    name: Label::of(&asset.collateral),
                    token: asset.collateral_token,
                },
                coin: asset.coin.clone().into(),
                asset: asset.asset_id,
                dex: asset.dex.clone().into(),
                dex_index: asset.dex_index,
                universe_index: asset.universe_index,
                sz_decimals: asset.size_decimals,
                is_delisted: asset.delisted,
                mark_price: asset.mark_price.map(Exact),
                max_leverage: asset.max_leverage,
                approved_builder_fee: self.approved_builder_fee,
                read_at: Time(asset.read_at),
            },
            disclosures: Disclosures::stated(),
        })
    }

    fn action(&self) -> Result<ActionRecord, Refusal> {
        let request = self.request;
        let mut orders = vec![OrderRecord {
            asset: self.asset.asset_id,
            is_buy: request.side == Side::Buy,
            price: number(request.price.0),
            size: number(request.size.0),
            reduce_only: request.reduce_only,
            kind: KindRecord::Limit(LimitRecord {
                tif: request.tif.as_str().into(),
            }),
            cloid: request.cloid.map(|cloid| cloid.to_string().into()),
        }];
        for (kind, trigger) in [
            (Protection::TakeProfit, request.take_profit),
            (Protection::StopLoss, request.stop_loss),
        ] {
            if let Some(trigger) = trigger {
                orders.push(self.child(kind, trigger)?);
            }
        }
        let grouping = if orders.len() > 1 {
            Grouping::NormalTpsl
        } else {
            Grouping::Na
        };
        Ok(ActionRecord {
            kind: "order".into(),
            orders,
            grouping: grouping.as_str().into(),
            builder: self.fees.perp_builder.map(|builder| BuilderRecord {
                address: LowerAddress(builder.address).text().into(),
                fee: builder.fee_tenth_bps.into(),
            }),
        })
    }

    fn child(&self, kind: Protection, trigger: TriggerRequest) -> Result<OrderRecord, Refusal> {
        let side = self.request.side.opposite();
        let trigger_price = trigger.trigger_price.0;
        let price = match trigger.limit_price {
            Some(limit) => limit.0,
            None => {
                let tolerance = self.fees.perp_max_trigger_slippage;
                worst_price(side, trigger_price, tolerance, self.asset.size_decimals).ok_or_else(
                    || {
                        Refusal::from(calldata_checks::Failure::new(
                            "perp_tpsl_limit_bound",
                            Violation::new(
                                "the limit price of a market trigger has too many digits",
                                "at most 36 digits",
                                trigger_price,
                            ),
                        ))
                    },
                )?
            }
        };
        Ok(OrderRecord {
            asset: self.asset.asset_id,
            is_buy: side == Side::Buy,
            price: number(price),
            size: number(self.request.size.0),
            reduce_only: true,
            kind: KindRecord::Trigger(TriggerRecord {
                is_market: trigger.limit_price.is_none(),
                trigger_px: number(trigger_price),
                tpsl: kind.as_str().into(),
            }),
            cloid: None,
        })
    }

    /// Computes the connection id and the digest for one nonce, with the typed-data library. The
    /// checks compute both from the byte layout instead.
    fn example(&self, action: &[u8]) -> ExampleRecord {
        let mut preimage = action.to_vec();
        preimage.extend(self.nonce.to_be_bytes());
        match self.request.vault_address {
            None => preimage.push(0),
            Some(vault) => {
                preimage.push(1);
                preimage.extend(vault);
            }
        }
        preimage.push(0);
        preimage.extend(self.expires_after.to_be_bytes());
        let connection_id = digest::keccak(&preimage);
        ExampleRecord {
            nonce: self.nonce,
            connection_id: Word(connection_id),
            eip712_digest: Word(signing_hash(connection_id)),
        }
    }
}

fn signing_hash(connection_id: B256) -> B256 {
    let domain = eip712_domain! {
        name: "Exchange",
        version: "1",
        chain_id: SIGNING_CHAIN_ID,
        verifying_contract: alloy_primitives::Address::ZERO,
    };
    let agent = Agent {
        source: hash::MAINNET_SOURCE.to_owned(),
        connectionId: connection_id,
    };
    agent.eip712_signing_hash(&domain)
}

fn member((name, kind): (&'static str, &'static str)) -> Member {
    Member {
        name: name.into(),
        kind: kind.into(),
    }
}

fn suffix_template(vault: Option<LowerAddress>) -> String {
    let vault = vault.map_or_else(
        || "00".to_owned(),
        |vault| vault.text().replacen("0x", "01", 1),
    );
    format!("0x{{nonce:16hex}}{vault}00{{expires_after:16hex}}")
}

fn number(value: Decimal) -> Text {
    value.to_string().into()
}
