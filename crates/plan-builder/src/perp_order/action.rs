//! The order action in the order of the wire. One declaration gives its JSON and its msgpack.

use calldata_checks::perp_order::{WireAction, WireBuilder, WireOrder, WireOrderKind};
use serde::{Deserialize, Deserializer, Serialize};

use crate::wire::Text;

/// The action that is hashed. Its members are declared in the order in which the venue hashes them,
/// and so they are written in that order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActionRecord {
    #[serde(rename = "type")]
    pub(super) kind: Text,
    pub(super) orders: Vec<OrderRecord>,
    pub(super) grouping: Text,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "never_null"
    )]
    pub(super) builder: Option<BuilderRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrderRecord {
    #[serde(rename = "a")]
    pub(super) asset: u32,
    #[serde(rename = "b")]
    pub(super) is_buy: bool,
    #[serde(rename = "p")]
    pub(super) price: Text,
    #[serde(rename = "s")]
    pub(super) size: Text,
    #[serde(rename = "r")]
    pub(super) reduce_only: bool,
    #[serde(rename = "t")]
    pub(super) kind: KindRecord,
    #[serde(
        rename = "c",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "never_null"
    )]
    pub(super) cloid: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub(super) enum KindRecord {
    Limit(LimitRecord),
    Trigger(TriggerRecord),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitRecord {
    pub(super) tif: Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TriggerRecord {
    pub(super) is_market: bool,
    pub(super) trigger_px: Text,
    pub(super) tpsl: Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BuilderRecord {
    #[serde(rename = "b")]
    pub(super) address: Text,
    #[serde(rename = "f")]
    pub(super) fee: u32,
}

impl ActionRecord {
    /// Returns the bytes that the venue hashes. `None` for a value that msgpack cannot hold; no
    /// action contains one.
    pub(super) fn msgpack(&self) -> Option<Vec<u8>> {
        rmp_serde::to_vec_named(self).ok()
    }

    /// Returns the action in the form of the checks.
    pub(super) fn text(&self) -> WireAction {
        WireAction {
            kind: self.kind.clone().into_owned(),
            orders: self.orders.iter().map(OrderRecord::text).collect(),
            grouping: self.grouping.clone().into_owned(),
            builder: self.builder.as_ref().map(|builder| WireBuilder {
                address: builder.address.clone().into_owned(),
                fee: builder.fee,
            }),
        }
    }
}

impl OrderRecord {
    fn text(&self) -> WireOrder {
        WireOrder {
            asset: self.asset,
            is_buy: self.is_buy,
            price: self.price.clone().into_owned(),
            size: self.size.clone().into_owned(),
            reduce_only: self.reduce_only,
            kind: match &self.kind {
                KindRecord::Limit(limit) => WireOrderKind::Limit {
                    tif: limit.tif.clone().into_owned(),
                },
                KindRecord::Trigger(trigger) => WireOrderKind::Trigger {
                    is_market: trigger.is_market,
                    trigger_price: trigger.trigger_px.clone().into_owned(),
                    tpsl: trigger.tpsl.clone().into_owned(),
                },
            },
            cloid: self.cloid.clone().map(Text::into_owned),
        }
    }
}

/// Reads a member that is left out when it has no value. Refuses `null`, because the venue would
/// hash it.
pub(super) fn never_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
