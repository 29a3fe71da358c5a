//! `POST /api/v6/security/token-scan`: one row about the requested token. A flag of another form,
//! and a missing one, is unknown.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use readings::security::{Check, Rating, Scan};
use serde_json::json;

use super::{DATA, Okx, TOKEN_SCAN, lower, percent};
use crate::{
    error::{Error, SourceErrorKind},
    json::Json,
    provenance::Sourced,
    text::clean,
    transport::QUOTED_CHARS,
};

const PATH: &str = "/api/v6/security/token-scan";
/// The kind of caller. The interface's documentation has this one only.
const CALLER: &str = "onchain_os_cli";

/// Members that are `true` when the risk is present. `isHasAssetEditAuth` concerns Solana only, and
/// the level supersedes `isRiskToken`.
const FLAGS: [(&str, Check); 20] = [
    ("isHoneypot", Check::Honeypot),
    ("isRubbishAirdrop", Check::RubbishAirdrop),
    ("isAirdropScam", Check::AirdropScam),
    ("isLowLiquidity", Check::LowLiquidity),
    ("isDumping", Check::Dumping),
    ("isLiquidityRemoval", Check::LiquidityRemoval),
    ("isPump", Check::Pump),
    ("isWash", Check::WashTrading),
    ("isWash2", Check::WashTrading),
    ("isFakeLiquidity", Check::FakeLiquidity),
    ("isFundLinkage", Check::LinkedToRugPulls),
    ("isVeryLowLpBurn", Check::LiquidityHardlyBurned),
    ("isVeryHighLpHolderProp", Check::LiquidityConcentrated),
    ("isHasBlockingHis", Check::HoldersBlockedBefore),
    ("isOverIssued", Check::OverIssued),
    ("isCounterfeit", Check::Counterfeit),
    ("isNotOpenSource", Check::NotOpenSource),
    ("isMintable", Check::Mintable),
    ("isHasFrozenAuth", Check::Freezable),
    ("isNotRenounced", Check::NotRenounced),
];

impl Okx {
    pub(super) async fn fetch_scan(
        &self,
        chain_id: u64,
        token: Address,
    ) -> Result<Sourced<Scan>, Error> {
        let asked = json!({"chainId": chain_id.to_string(), "contractAddress": lower(token)});
        let body = json!({"source": CALLER, "tokenList": [asked]}).to_string();
        let (data, provenance) = self.ask(TOKEN_SCAN, PATH, Some(&body)).await?;
        let rows = Json::of(&data, DATA);
        let none = |reason| Error::NotFound {
            reason,
            message: format!("no scan of token {token} on chain {chain_id}"),
        };
        let listed = rows
            .elements()
            .map_err(|kind| self.missed(TOKEN_SCAN, kind))?;
        if listed.is_empty() {
            return Err(none("no_scan"));
        }
        let row = subject(&rows, chain_id, token).map_err(|kind| self.missed(TOKEN_SCAN, kind))?;
        let supported = row
            .find("isChainSupported")
            .and_then(|flag| flag.flag().ok());
        if supported == Some(false) {
            return Err(none("chain_not_covered"));
        }
        let value = read(&row);
        if value.is_empty() {
            return Err(none("no_scan"));
        }
        Ok(Sourced {
            value,
            sources: vec![provenance],
        })
    }
}

/// The only row, if it is about the requested token.
fn subject<'a>(
    rows: &Json<'a>,
    chain_id: u64,
    token: Address,
) -> Result<Json<'a>, SourceErrorKind> {
    let row = rows.only()?;
    let chain = row.member("chainId")?.code()?;
    let address = row.member("tokenAddress")?.address()?;
    if chain != chain_id.to_string() || address != token {
        return Err(SourceErrorKind::Malformed {
            path: row.member("tokenAddress")?.path().to_owned(),
            expected: "the token that was asked for",
            observed: clean(&format!("{chain}:{address}"), QUOTED_CHARS),
        });
    }
    Ok(row)
}

fn read(row: &Json<'_>) -> Scan {
    let mut findings: BTreeMap<Check, bool> = BTreeMap::new();
    for (key, check) in FLAGS {
        if let Some(found) = row.find(key).and_then(|flag| flag.flag().ok()) {
            *findings.entry(check).or_default() |= found;
        }
    }
    let mut complete = true;
    let mut tax = |key| {
        let tax = percent(&row.find(key)?);
        // The scan counts as incomplete when a tax is impossible, because other members may be
        // wrong too.
        complete &= tax.is_ok();
        tax.ok()
    };
    let buy_tax_pct = tax("buyTaxes");
    let sell_tax_pct = tax("sellTaxes");
    let level = row.find("riskLevel");
    Scan {
        source: TOKEN_SCAN,
        complete,
        rating: Some(Rating::read(
            level.and_then(|level| level.text().ok()).as_deref(),
        )),
        findings,
        buy_tax_pct,
        sell_tax_pct,
        ..Scan::default()
    }
}

#[cfg(test)]
mod tests {
    use readings::security::{Judgement, RiskLevel, Verdict};
    use serde_json::Value;

    use super::*;

    fn scan(row: &Value) -> Scan {
        let raw = serde_json::value::to_raw_value(row).unwrap();
        read(&Json::of(&raw, "$"))
    }

    #[test]
    fn a_level_that_is_missing_counts_as_high() {
        for level in [json!(null), json!(""), json!("SAFE"), json!(1)] {
            let scan = scan(&json!({"riskLevel": level, "isHoneypot": false}));
            assert_eq!(scan.rating.unwrap().level, RiskLevel::High, "{level}");
            assert_eq!(Judgement::of(&[scan]).verdict, Verdict::Danger);
        }
    }

    #[test]
    fn flags_are_booleans_or_unknown() {
        for unknown in [json!(null), json!("false"), json!(0), json!([])] {
            let scan = scan(&json!({"riskLevel": "LOW", "isHoneypot": unknown}));
            assert_eq!(scan.finding(Check::Honeypot), None, "{unknown}");
            assert_eq!(Judgement::of(&[scan]).verdict, Verdict::Unknown);
        }
        let wash = |one: bool, two: bool| {
            scan(&json!({"isWash": one, "isWash2": two})).finding(Check::WashTrading)
        };
        assert_eq!(
            [wash(false, false), wash(true, false), wash(false, true)],
            [Some(false), Some(true), Some(true)]
        );
        // Only Solana has this member.
        assert!(
            scan(&json!({"isHasAssetEditAuth": true}))
                .findings
                .is_empty()
        );
    }

    #[test]
    fn taxes_are_percentages_and_unknown_is_not_zero() {
        let taxed =
            |tax: Value| scan(&json!({"riskLevel": "LOW", "isHoneypot": false, "sellTaxes": tax}));
        assert_eq!(taxed(json!("99")).sell_tax_pct.unwrap().to_string(), "99");
        for unknown in [json!(null), json!("")] {
            let scan = taxed(unknown);
            assert_eq!((scan.sell_tax_pct, scan.complete), (None, true));
        }
        for odd in [json!("101"), json!("-5"), json!("5%"), json!(5)] {
            let scan = taxed(odd.clone());
            assert_eq!((scan.sell_tax_pct, scan.complete), (None, false), "{odd}");
            assert_eq!(Judgement::of(&[scan]).verdict, Verdict::Unknown);
        }
    }

    #[test]
    fn the_subject_is_compared() {
        let token = Address::repeat_byte(0x77);
        let row =
            |chain: Value, address: String| json!([{"chainId": chain, "tokenAddress": address}]);
        let fits = |rows: &Value| {
            let raw = serde_json::value::to_raw_value(rows).unwrap();
            subject(&Json::of(&raw, "$"), 196, token).is_ok()
        };
        assert!(fits(&row(json!("196"), lower(token))));
        assert!(fits(&row(json!(196), token.to_string())));
        assert!(!fits(&row(json!("1"), lower(token))));
        assert!(!fits(&row(json!("196"), lower(Address::ZERO))));
        assert!(!fits(&json!([{"tokenAddress": lower(token)}])));
        let mut twice = row(json!("196"), lower(token));
        let again = twice[0].clone();
        twice.as_array_mut().unwrap().push(again);
        assert!(!fits(&twice));
    }
}
