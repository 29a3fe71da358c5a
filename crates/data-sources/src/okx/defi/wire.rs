//! The wire forms of the interface, which writes ids and lists in several ways. The types read all
//! of them, and judge no figure.

use readings::Figure;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::text::clean;

/// A number or a text of digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Id(String);

/// A list, or one item without a list around it, or nothing.
#[derive(Clone, Debug)]
pub(super) struct Many<T>(pub(super) Vec<T>);

/// A platform in the list of platforms.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Platform {
    pub(super) analysis_platform_id: Id,
    pub(super) platform_name: String,
    pub(super) chain_index: Option<Id>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    pub(super) total_value: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    pub(super) currency_amount: Option<Figure>,
    #[serde(default)]
    pub(super) network_balance_vo_list: Vec<NetworkBalance>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NetworkBalance {
    pub(super) chain_index: Option<Id>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    pub(super) currency_amount: Option<Figure>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlatformLists {
    pub(super) wallet_id_platform_list: Vec<PlatformList>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlatformList {
    pub(super) platform_list: Vec<Platform>,
}

/// One platform in detail.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlatformDetail {
    pub(super) analysis_platform_id: Option<Id>,
    pub(super) platform_name: Option<String>,
    pub(super) wallet_id_platform_detail_list: Vec<WalletDetail>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WalletDetail {
    pub(super) analysis_platform_id: Option<Id>,
    pub(super) platform_name: Option<String>,
    pub(super) network_hold_vo_list: Vec<NetworkHold>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NetworkHold {
    pub(super) chain_index: Id,
    #[serde(default)]
    pub(super) invest_token_balance_vo_list: Vec<Investment>,
    #[serde(default)]
    pub(super) invest_market_token_balance_vo_list: Vec<Market>,
}

/// A lending market: supplied and owed assets, under one health factor.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Market {
    #[serde(default, deserialize_with = "Figure::lenient")]
    pub(super) health_rate: Option<Figure>,
    #[serde(default)]
    pub(super) asset_map: AssetMap,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct AssetMap {
    #[serde(default)]
    pub(super) supply: Vec<Investment>,
    #[serde(default)]
    pub(super) borrow: Vec<Investment>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Investment {
    pub(super) investment_id: Option<Id>,
    pub(super) investment_name: Option<String>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    pub(super) total_value: Option<Figure>,
    #[serde(default)]
    pub(super) assets_token_list: Vec<Asset>,
    #[serde(default)]
    pub(super) position_list: Vec<Held>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Held {
    #[serde(default)]
    pub(super) assets_token_list: Vec<Asset>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asset {
    pub(super) token_symbol: String,
    #[serde(default, deserialize_with = "Figure::or_none")]
    pub(super) coin_amount: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    pub(super) currency_amount: Option<Figure>,
}

impl Id {
    /// Its digits, if it is a number of at most twenty.
    pub(super) fn digits(&self) -> Option<&str> {
        let plain = self.0.bytes().all(|byte| byte.is_ascii_digit());
        (plain && (1..=20).contains(&self.0.len())).then_some(self.0.as_str())
    }

    pub(super) fn chain(&self) -> Option<u64> {
        self.digits()?.parse().ok()
    }

    /// The id for an error message.
    pub(super) fn shown(&self) -> String {
        clean(&self.0, 24)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(raw.get().trim_matches('"').to_owned()))
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = match Value::deserialize(deserializer)? {
            Value::Null => Vec::new(),
            Value::Array(items) => items,
            one => vec![one],
        };
        let read = items.into_iter().map(serde_json::from_value);
        read.collect::<Result<_, _>>()
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}
