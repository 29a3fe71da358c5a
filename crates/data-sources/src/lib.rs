//! One adapter per upstream behind capability ports.
