//! The swap of the plan measurements: a request, the aggregator's recorded quote for it, the
//! reviewed fee configuration.

use std::sync::Arc;

use alloy_primitives::{Address, address, hex};
use bytes::Bytes;
use calldata_checks::UtcSeconds;
use data_sources::lifi::{Lifi, LifiConfig};
use data_sources::transport::Transport;
use data_sources::{Clock, Mode, VenueConfig};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::Full;
use plan_builder::ports::{PortError, SwapAsk, SwapQuote, SwapQuotes};
use plan_builder::{FeeDocument, Policy};
use tokio::net::TcpListener;
use tokio::sync::OnceCell;

use crate::BenchError;
use crate::baseline;
use crate::exchange::HttpAnswer;

/// The arguments of the swap that the recorded quote is for.
pub const ARGUMENTS: &str = r#"{"accountProfile":{"kind":"eoa","address":"0x1111111111111111111111111111111111111111","chainId":8453},"chainId":8453,"fromToken":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","toToken":"0x4200000000000000000000000000000000000006","fromAmount":"1000000000","slippage":{"maxBps":50}}"#;

/// The recipient of the recorded fee: an account of local chains, which `mcp-server serve` refuses
/// to pay.
const RECORDED_RECIPIENT: Address = address!("90F79bf6EB2c4f870365E785982E1f101E93b906");
/// The recipient here.
const RECIPIENT: Address = address!("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");

/// The fee configuration under which the quote passes every check, in an operator's form.
pub fn fees() -> String {
    const RECORDED: &str = include_str!("../../../fixtures/vectors/plans/fees.toml");
    RECORDED.replace(&RECORDED_RECIPIENT.to_string(), &RECIPIENT.to_string())
}

/// The agent rail's configuration, open for any number of calls; ends in its section `[plans]`.
pub const PLANS_CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"

[plans]
calls_per_second = 1000000
calls_burst = 1000000
calls_in_flight = 10000
shares.swap = { pool = 1000000000, pool_per_hour = 1000000000 }
"#;

/// The recorded quote, with the fee to [`RECIPIENT`].
fn quote() -> String {
    const RECORDED: &str = include_str!("../../../fixtures/upstreams/lifi/quote_usdc_weth.json");
    let digits = |address: Address| hex::encode(address);
    RECORDED.replace(&digits(RECORDED_RECIPIENT), &digits(RECIPIENT))
}

/// The policy of [`fees`], with the default lives.
///
/// # Errors
/// When the configuration is invalid.
pub fn policy() -> Result<Policy, BenchError> {
    let document: FeeDocument = toml::from_str(&fees())?;
    Ok(Policy::new(document.review()?))
}

/// The aggregator's answer.
pub fn quote_answer() -> HttpAnswer {
    let json = HeaderValue::from_static("application/json");
    HttpAnswer {
        status: StatusCode::OK,
        headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
        body: Bytes::from(quote()),
    }
}

/// A quote that is fetched once through the server's own adapter, and kept, so that a measured plan
/// waits for no request. Its time is always the present time of the clock.
pub struct KeptQuote {
    aggregator: Lifi,
    quote: OnceCell<SwapQuote>,
    clock: Arc<dyn Clock>,
}

impl KeptQuote {
    /// Serves the recorded answer in this process, and lets the adapter fetch it.
    ///
    /// # Errors
    /// When no port is available.
    pub async fn of_the_recording(clock: Arc<dyn Clock>) -> Result<Self, BenchError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(baseline::serve(listener, |_| {
            let HttpAnswer { headers, body, .. } = quote_answer();
            let mut response = Response::new(Full::new(body));
            *response.headers_mut() = headers;
            std::future::ready(response)
        }));
        let config = LifiConfig {
            base_url,
            common: VenueConfig {
                mode: Mode::Replay,
                ..VenueConfig::default()
            },
            ..LifiConfig::default()
        };
        Ok(Self {
            aggregator: Lifi::new(&Transport::new()?, config, clock.clone())?,
            quote: OnceCell::new(),
            clock,
        })
    }

    /// The quote, once it was fetched.
    pub fn kept(&self) -> Option<&SwapQuote> {
        self.quote.get()
    }
}

impl SwapQuotes for KeptQuote {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        let quote = self.quote.get_or_try_init(|| self.aggregator.quote(ask));
        let now = u64::try_from(self.clock.now().as_second());
        Ok(SwapQuote {
            read_at: UtcSeconds::from_unix(now.unwrap_or_default()),
            ..quote.await?.clone()
        })
    }
}
