//! What can go wrong.

use broadsweep::wgpu;

use crate::scene::Body;

/// Why there is no frame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The library says why.
    #[error(transparent)]
    Search(#[from] broadsweep::Error),
    /// The device rejects something, and says why.
    #[error("{0}")]
    Device(String),
    /// The device has no memory for the bodies of a scene.
    #[error("{box_count} boxes: the device has no memory for them")]
    NoMemory {
        /// The boxes of the scene.
        box_count: u32,
    },
    /// The bodies of a scene do not fit a buffer of the device.
    #[error("{box_count} boxes: the device has buffers for {most}")]
    TooManyBoxes {
        /// The boxes of the scene.
        box_count: u32,
        /// As many as fit.
        most: u64,
    },
}

impl Error {
    /// Checks that the bodies of a scene fit a buffer of the device.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`].
    pub fn check(device: &wgpu::Device, box_count: u32) -> Result<(), Self> {
        let limits = device.limits();
        let bytes = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let most = bytes / size_of::<Body>() as u64;
        if u64::from(box_count) > most { Err(Self::TooManyBoxes { box_count, most }) } else { Ok(()) }
    }

    /// Creates what a scene of this many boxes has on the device.
    ///
    /// # Errors
    /// Those of `make`, and [`Error::NoMemory`]; in a browser, which tells of that later, the device's handler of errors is told.
    pub fn with_memory<T>(
        device: &wgpu::Device,
        box_count: u32,
        make: impl FnOnce() -> Result<T, Self>,
    ) -> Result<T, Self> {
        #[cfg(target_arch = "wasm32")]
        let (_, made) = ((device, box_count), make());
        #[cfg(not(target_arch = "wasm32"))]
        let made = {
            let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
            // What is made of buffers that are none is wrong too.
            let rest = device.push_error_scope(wgpu::ErrorFilter::Validation);
            let made = make();
            let rest = pollster::block_on(rest.pop());
            match pollster::block_on(memory.pop()) {
                Some(_) => Err(Self::NoMemory { box_count }),
                None => match rest {
                    Some(error) => Err(Self::Device(error.to_string())),
                    None => made,
                },
            }
        };
        made
    }

    /// Returns whether the device is lost.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Search(broadsweep::Error::DeviceLost { .. }))
    }
}
