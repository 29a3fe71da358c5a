//! Sells one recorded answer over `x402-axum`: `baseline-x402-axum PAID UNPAID FACILITATOR`. PAID
//! is the recorded answer to a paid call. UNPAID is the recorded answer to an unpaid call: its
//! offer is the one that is sold.

use std::error::Error;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio::net::TcpListener;
use x402_axum::X402Middleware;
use x402_types::proto::v2::{PaymentRequired, PriceTag};

const PAYMENT_REQUIRED: &str = "payment-required";

/// An answer as the benchmark records it.
#[derive(Debug, Deserialize)]
struct Recording {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Recording {
    fn read(path: &str) -> Result<Self, Box<dyn Error>> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    /// The options of an unpaid call.
    fn price_tags(&self) -> Result<Vec<PriceTag>, Box<dyn Error>> {
        let mut headers = self.headers.iter();
        let offer = headers.find(|(name, _)| name.eq_ignore_ascii_case(PAYMENT_REQUIRED));
        let (_, offer) = offer.ok_or("the unpaid answer has no offer")?;
        let offer: PaymentRequired = serde_json::from_slice(&STANDARD.decode(offer)?)?;
        let tag = |requirements| PriceTag {
            requirements,
            enricher: None,
        };
        Ok(offer.accepts.into_iter().map(tag).collect())
    }

    fn replay(self) -> Result<(StatusCode, HeaderMap, Bytes), Box<dyn Error>> {
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            headers.append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        }
        Ok((
            StatusCode::from_u16(self.status)?,
            headers,
            Bytes::from(self.body),
        ))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [paid, unpaid, facilitator] = &arguments[..] else {
        return Err("expected PAID UNPAID FACILITATOR".into());
    };
    let mut tags = Recording::read(unpaid)?.price_tags()?.into_iter();
    let first = tags.next().ok_or("the offer has no option")?;
    let gate = X402Middleware::try_new(facilitator)?.with_price_tag(first);
    let gate = tags.fold(gate, |gate, tag| gate.with_price_tag(tag));
    let answer = Recording::read(paid)?.replay()?;
    let sell = get(move || std::future::ready(answer.clone())).layer(gate);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        // The connection works without this setting, only slower.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().fallback_service(sell)).await?;
    Ok(())
}
