//! Tests that quotes and refusals that an embedder stores read back as they were written.

use std::fmt::Debug;

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::{BasisPoints, UtcSeconds};
use plan_builder::{
    Judgement, Refusal,
    ports::{
        BridgeFees, PerpVenue, PmBuilderFee, PmVenue, PortError, PortErrorReason, SimulatedCall,
        SimulatedLog, SwapAsk, SwapQuotes,
    },
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    embedding::{NOW, ready},
    vectors::recorded::Recorded,
};

fn kept<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) -> serde_json::Value {
    let text = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), value);
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let written = json.clone();
    json["unheard_of"] = 1.into();
    assert!(serde_json::from_value::<T>(json).is_err(), "{text}");
    written
}

#[test]
fn quotes_and_readings_read_back() {
    let read_at = UtcSeconds::from_unix(NOW);
    let recorded = Recorded { read_at };
    let ask = SwapAsk {
        chain_id: 8453,
        from_token: Address::repeat_byte(1),
        to_token: Address::repeat_byte(2),
        from_amount: U256::from(1_000_000),
        account: Address::repeat_byte(3),
        max_slippage: BasisPoints::new(50).unwrap(),
        integrator: "example".to_owned(),
        fee: BasisPoints::new(30).unwrap(),
        allow_tools: Vec::new(),
        deny_tools: Vec::new(),
        max_price_impact: None,
    };
    let mut quote = ready(recorded.quote(&ask)).unwrap();
    let json = kept(quote.clone());
    assert_eq!(json["from_amount"], "1000000");
    assert_eq!(json["read_at"], read_at.to_string());
    assert!(json.get("from_usd").is_none());
    quote.call_from = None;
    quote.to_amount = U256::MAX;
    quote.from_usd = Some("0.5".parse().unwrap());
    kept(quote);
    let judged = Judgement::output_price(true, "1000 USD in, 995 USD out");
    assert_eq!(kept(judged)["result"], "holds");
    for forward in [false, true] {
        kept(ready(recorded.fees(6, 3, forward)).unwrap());
    }
    kept(ready(recorded.market(U256::from(9))).unwrap());
    let fee = ready(recorded.builder_fee(B256::repeat_byte(1))).unwrap();
    assert_eq!(kept(fee)["maker_bps"], fee.maker_bps.to_string());
    kept(PmBuilderFee {
        maker_bps: "0.5".parse().unwrap(),
        taker_bps: "10000".parse().unwrap(),
    });
    kept(ready(recorded.asset("BTC")).unwrap());
    kept(SimulatedCall {
        success: true,
        return_data: Bytes::from_static(&[1, 2]),
        gas_used: 21_000,
        logs: vec![SimulatedLog {
            address: Address::repeat_byte(7),
            topics: vec![B256::repeat_byte(8)],
            data: Bytes::new(),
        }],
    });
}

#[test]
fn refusals_read_back() {
    let reason = PortErrorReason::RateLimited {
        retry_after: Some(std::time::Duration::from_secs(3)),
    };
    let refusal = Refusal::from(PortError {
        source_name: "lifi".into(),
        reason,
    });
    let json = kept(refusal);
    assert_eq!(json["refused"]["check"], "rate_limited");
    assert_eq!(json["refused"]["retry_after"], 3);
}

#[test]
fn failures_of_ports_read_back() {
    let text = || "a text".to_owned();
    for (kind, reason) in [
        (
            "not_configured",
            PortErrorReason::NotConfigured { detail: text() },
        ),
        (
            "unavailable",
            PortErrorReason::Unavailable { detail: text() },
        ),
        (
            "rate_limited",
            PortErrorReason::RateLimited { retry_after: None },
        ),
        (
            "rate_limited",
            PortErrorReason::RateLimited {
                retry_after: Some(std::time::Duration::from_millis(1_500)),
            },
        ),
        (
            "malformed",
            PortErrorReason::Malformed {
                path: "$.estimate".to_owned(),
                detail: text(),
            },
        ),
        ("no_route", PortErrorReason::NoRoute { detail: text() }),
        ("unknown", PortErrorReason::Unknown { subject: text() }),
        ("refused", PortErrorReason::Refused { detail: text() }),
    ] {
        assert_eq!(kept(reason.clone())["kind"], kind);
        let json = kept(PortError {
            source_name: "lifi".into(),
            reason,
        });
        assert_eq!(json["source_name"], "lifi");
        assert_eq!(json["reason"]["kind"], kind);
    }
}
