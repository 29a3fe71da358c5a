//! Adapters that need no more than a source.

/// Declares an adapter over a [`Source`]: its type, its [`UpstreamSpec`] and its constructor.
macro_rules! upstream {
    ($(#[$doc:meta])* $name:ident, $spec:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            source: $crate::source::Source,
        }

        impl $name {
            /// The addresses, limits and quotas of the upstream.
            pub const SPEC: &'static $crate::source::UpstreamSpec = &$spec;

            /// Builds the adapter. It makes no connection yet.
            ///
            /// # Errors
            ///
            /// A [`TransportError`](crate::transport::TransportError) when an address cannot be
            /// used.
            pub fn new(
                transport: &$crate::transport::Transport,
                config: $crate::source::SourceConfig,
                clock: std::sync::Arc<dyn $crate::Clock>,
            ) -> Result<Self, $crate::transport::TransportError> {
                let source = $crate::source::Source::new(transport, Self::SPEC, config, clock)?;
                Ok(Self { source })
            }

            /// The upstream that this adapter asks.
            pub fn source(&self) -> &$crate::source::Source {
                &self.source
            }
        }
    };
}
pub(crate) use upstream;
