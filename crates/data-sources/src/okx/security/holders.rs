//! `GET /api/v6/dex/market/token/holder`.

use std::sync::Arc;

use alloy_primitives::Address;
use readings::security::Holder;

use super::{DATA, Okx, TOKEN_HOLDERS, lower, percent};
use crate::{
    error::{Error, SourceErrorKind},
    json::Json,
    provenance::Sourced,
};

/// Most rows that are asked for and read.
const LIMIT: usize = 20;

impl Okx {
    pub(super) async fn fetch_holders(
        &self,
        token: Address,
    ) -> Result<Sourced<Arc<Vec<Holder>>>, Error> {
        let path = format!(
            "/api/v6/dex/market/token/holder?chainIndex={}&tokenContractAddress={}&tagFilter=&limit={LIMIT}",
            self.config.reviewed.chain_id,
            lower(token),
        );
        let (data, provenance) = self.ask(TOKEN_HOLDERS, &path, None).await?;
        let holders =
            read(&Json::of(&data, DATA)).map_err(|kind| self.missed(TOKEN_HOLDERS, kind))?;
        if holders.is_empty() {
            return Err(Error::NotFound {
                reason: "no_holder_list",
                message: format!("no holders of token {token} are known"),
            });
        }
        Ok(Sourced {
            value: Arc::new(holders),
            sources: vec![provenance],
        })
    }
}

/// The rows that state a share. One impossible share invalidates the list: then the unit differs
/// from the documented one.
fn read(rows: &Json<'_>) -> Result<Vec<Holder>, SourceErrorKind> {
    let rows = rows.elements()?;
    let stated = rows
        .iter()
        .take(LIMIT)
        .filter_map(|row| Some((row, row.find("holdPercent")?)));
    stated
        .map(|(row, share)| {
            Ok(Holder {
                address: row.member("holderWalletAddress")?.address()?,
                share_pct: percent(&share)?,
                kind: None,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn row(address: &str, share: Value) -> Value {
        json!({"holderWalletAddress": address, "holdPercent": share})
    }

    const ONE: &str = "0x1111111111111111111111111111111111111111";

    #[test]
    fn shares_are_percentages() {
        let of = |rows: Value| {
            let raw = serde_json::value::to_raw_value(&rows).unwrap();
            read(&Json::of(&raw, "$")).map(|rows| rows.len())
        };
        assert_eq!(
            of(json!([row(ONE, json!("10.0")), row(ONE, json!(""))])),
            Ok(1)
        );
        assert_eq!(of(json!([])), Ok(0));
        for odd in [
            json!([row(ONE, json!("1000"))]),
            json!([row(ONE, json!(10))]),
            json!([row("0x12", json!("1"))]),
            json!({"rows": []}),
        ] {
            assert!(of(odd.clone()).is_err(), "{odd}");
        }
    }
}
