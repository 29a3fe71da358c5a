//! `payload` of a perpetuals plan: the action, the recipe for the message to sign, one worked
//! example, and the venue's readings.

use std::fmt;

use alloy_primitives::{Address, hex};
use calldata_checks::perp_order as checks;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

use super::action::{ActionRecord, never_null};
use crate::{
    signing::TypedDataHashes,
    wire::{Eip55, Exact, Hex, Label, Text, Time, Word},
};

/// The whole payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PerpOrderPayload {
    /// Always empty, because an order has no transactions.
    pub(super) steps: [(); 0],
    /// The kind of payload.
    pub(super) kind: Text,
    /// The endpoint to which the signed order is posted.
    pub(super) endpoint: Text,
    /// The account that the order is for.
    pub(super) order_owner: Eip55,
    /// The action, in the order of the wire.
    pub(super) action: ActionRecord,
    /// The bytes of the action that are hashed.
    pub(super) action_msgpack: Hex,
    /// How the message to sign is made from these bytes.
    pub(super) recipe: RecipeRecord,
    /// The message to sign for one nonce.
    pub(super) example: ExampleRecord,
    /// The venue's readings.
    pub(super) venue: VenueRecord,
    /// The limits of the order, and what is not known yet.
    pub(super) disclosures: Disclosures,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecipeRecord {
    pub(super) connection_id: Text,
    #[serde(deserialize_with = "stated")]
    pub(super) vault_address: Option<LowerAddress>,
    #[serde(deserialize_with = "stated")]
    pub(super) expires_after: Option<u64>,
    pub(super) preimage_suffix_template: Text,
    pub(super) domain: DomainRecord,
    pub(super) types: Types,
    pub(super) primary_type: Text,
    pub(super) message: Message,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct DomainRecord {
    pub(super) name: Text,
    pub(super) version: Text,
    pub(super) chain_id: u64,
    pub(super) verifying_contract: Eip55,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Types {
    #[serde(rename = "EIP712Domain")]
    pub(super) domain: Vec<Member>,
    #[serde(rename = "Agent")]
    pub(super) agent: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    pub(super) name: Text,
    #[serde(rename = "type")]
    pub(super) kind: Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Message {
    pub(super) source: Text,
    pub(super) connection_id: Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExampleRecord {
    pub(super) nonce: u64,
    pub(super) connection_id: Word,
    pub(super) eip712_digest: Word,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VenueRecord {
    pub(super) collateral: CollateralRecord,
    pub(super) coin: Text,
    pub(super) asset: u32,
    pub(super) dex: Text,
    pub(super) dex_index: u32,
    pub(super) universe_index: u32,
    pub(super) sz_decimals: u8,
    pub(super) is_delisted: bool,
    #[serde(deserialize_with = "stated")]
    pub(super) mark_price: Option<Exact>,
    pub(super) max_leverage: u32,
    /// In tenths of a basis point.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "never_null"
    )]
    pub(super) approved_builder_fee: Option<u64>,
    pub(super) read_at: Time,
}

/// The token in which positions on the dex are paid and settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CollateralRecord {
    pub(super) name: Label,
    pub(super) token: u32,
}

/// Facts for the caller that are not part of the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Disclosures {
    leverage: Text,
    min_value: Text,
    signer: Text,
}

impl Disclosures {
    /// The texts that are the same for every order.
    pub(super) const fn stated() -> Self {
        Self {
            leverage: Text::Borrowed(
                "not set by the order: the account's current leverage and margin mode apply",
            ),
            min_value: Text::Borrowed(
                "judged by the limit price, and not at all of an order that only reduces; the venue may use its mark price, and takes a small reduce-only order where it closes the position",
            ),
            signer: Text::Borrowed(
                "order_owner or its agent wallet: recover the address from the signature before posting, because the venue answers a wrong hash by naming an unknown wallet",
            ),
        }
    }
}

impl PerpOrderPayload {
    /// The hashes of the message for the example's nonce. The checks have already recomputed its
    /// digest.
    pub(super) fn example_hashes(&self) -> TypedDataHashes {
        let connection_id = self.example.connection_id.0;
        TypedDataHashes {
            domain: checks::hash::DOMAIN_SEPARATOR,
            message: checks::hash::agent_hash(checks::hash::MAINNET_SOURCE, connection_id),
            digest: self.example.eip712_digest.0,
            is_readable: false,
        }
    }

    /// The payload in the form of the checks.
    pub(super) fn plan(&self) -> checks::Plan {
        let (recipe, venue) = (&self.recipe, &self.venue);
        checks::Plan {
            kind: self.kind.clone().into_owned(),
            endpoint: self.endpoint.clone().into_owned(),
            order_owner: self.order_owner.address(),
            action: self.action.text(),
            action_msgpack: self.action_msgpack.0.clone(),
            recipe: checks::Recipe {
                connection_id: recipe.connection_id.clone().into_owned(),
                vault_address: recipe.vault_address.map(|vault| vault.0),
                expires_after: recipe.expires_after,
                preimage_suffix_template: recipe.preimage_suffix_template.clone().into_owned(),
                domain: checks::Domain {
                    name: recipe.domain.name.clone().into_owned(),
                    version: recipe.domain.version.clone().into_owned(),
                    chain_id: recipe.domain.chain_id,
                    verifying_contract: recipe.domain.verifying_contract.address(),
                },
                domain_type: members(&recipe.types.domain),
                agent_type: members(&recipe.types.agent),
                primary_type: recipe.primary_type.clone().into_owned(),
                source: recipe.message.source.clone().into_owned(),
                message_connection_id: recipe.message.connection_id.clone().into_owned(),
            },
            example: checks::Example {
                nonce: self.example.nonce,
                connection_id: self.example.connection_id.0,
                eip712_digest: self.example.eip712_digest.0,
            },
            venue: checks::Venue {
                coin: venue.coin.clone().into_owned(),
                dex: venue.dex.clone().into_owned(),
                dex_index: venue.dex_index,
                universe_index: venue.universe_index,
                asset_id: venue.asset,
                size_decimals: venue.sz_decimals,
                delisted: venue.is_delisted,
                collateral: checks::Collateral {
                    token: venue.collateral.token,
                    name: venue.collateral.name.as_str().to_owned(),
                },
                mark_price: venue.mark_price.map(|price| price.0),
                approved_builder_fee: venue.approved_builder_fee,
                read_at: venue.read_at.0,
            },
        }
    }
}

/// The name and type of each member of a struct type.
fn members(list: &[Member]) -> Vec<(String, String)> {
    list.iter()
        .map(|member| {
            (
                member.name.clone().into_owned(),
                member.kind.clone().into_owned(),
            )
        })
        .collect()
}

/// An address in lower case, in which the venue's own clients write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LowerAddress(pub(super) Address);

impl LowerAddress {
    /// The text.
    pub(super) fn text(self) -> String {
        hex::encode_prefixed(self.0)
    }
}

impl Serialize for LowerAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for LowerAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = LowerAddress;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("0x and 40 lower-case hex digits")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<LowerAddress, E> {
                let address = text.parse().ok().map(LowerAddress);
                let address = address.filter(|address| address.text() == text);
                address.ok_or_else(|| E::custom("expected 0x and 40 lower-case hex digits"))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Reads a member that is `null` when it has no value, and that is never left out.
fn stated<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
