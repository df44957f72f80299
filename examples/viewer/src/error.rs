//! Errors of the viewer.

use broadsweep::wgpu;

use crate::scene::Body;

/// The reason why there is no frame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// An error of the library.
    #[error(transparent)]
    Search(#[from] broadsweep::Error),
    /// The device rejects a call, for this reason.
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
        /// The most boxes that fit.
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

    /// Calls `make`, which creates the device resources of a scene of `box_count` boxes.
    ///
    /// # Errors
    /// Errors of `make`, and [`Error::NoMemory`]. A browser reports a lack of memory to the error handler of the device
    /// instead.
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
            // Failed buffers also cause validation errors.
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
