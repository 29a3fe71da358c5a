//! The choice of further forms for the steps.

/// The further forms in which a plan gives its steps.
///
/// # Example
/// ```
/// use alloy_primitives::{U256, address};
/// use calldata_checks::BasisPoints;
/// use plan_builder::{AccountProfile, ExportSet, Refusal, swap::SwapRequest};
///
/// let batch = ExportSet { safe_tx_builder: true, ..ExportSet::default() };
/// let request = |account| {
///     let usdc = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
///     let weth = address!("4200000000000000000000000000000000000006");
///     SwapRequest::new(account, usdc, weth, U256::from(1_000_000), BasisPoints::NONE)
/// };
/// let holder = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
/// assert!(request(AccountProfile::safe(holder, 8453))?.with_exports(batch).is_ok());
///
/// // Only a Safe takes a Safe batch.
/// let refusal = request(AccountProfile::eoa(holder, 8453))?.with_exports(batch).unwrap_err();
/// assert_eq!(refusal.request_path.as_deref(), Some("$.exports"));
/// # Ok::<(), Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ExportSet {
    /// `wallet_sendCalls` (EIP-5792).
    pub eip5792: bool,
    /// A batch for the Safe Transaction Builder.
    pub safe_tx_builder: bool,
}

impl ExportSet {
    pub(crate) const WORDS: &'static [&'static str] = &["eip5792", "safe_tx_builder"];

    /// Reads the words of the argument `exports`.
    pub(crate) fn from_words(words: &[&str]) -> Self {
        Self {
            eip5792: words.contains(&"eip5792"),
            safe_tx_builder: words.contains(&"safe_tx_builder"),
        }
    }

    /// The words, in order.
    pub(crate) fn words(self) -> Vec<&'static str> {
        [
            (self.eip5792, "eip5792"),
            (self.safe_tx_builder, "safe_tx_builder"),
        ]
        .into_iter()
        .filter_map(|(chosen, word)| chosen.then_some(word))
        .collect()
    }
}
