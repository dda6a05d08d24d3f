################################################################################
#
# weir-webui
#
################################################################################

WEIR_WEBUI_VERSION = 0.1.0
WEIR_WEBUI_SITE = $(WEIR_ROOT)/build/webui
WEIR_WEBUI_SITE_METHOD = local
WEIR_WEBUI_LICENSE = Apache-2.0, MIT, OFL-1.1, 0BSD, Unlicense
WEIR_WEBUI_LICENSE_FILES = LICENSE licences.txt

define WEIR_WEBUI_INSTALL_TARGET_CMDS
	test -f $(@D)/index.html
	rm -rf $(TARGET_DIR)/usr/share/weir/webui
	mkdir -p $(TARGET_DIR)/usr/share/weir/webui
	cp -a $(@D)/. $(TARGET_DIR)/usr/share/weir/webui
	rm -rf $(TARGET_DIR)/usr/share/weir/webui/LICENSE* \
		$(TARGET_DIR)/usr/share/weir/webui/.stamp_* \
		$(TARGET_DIR)/usr/share/weir/webui/.files-list*
endef

# The texts of the licences stand beside the sources, not below them.
define WEIR_WEBUI_COPY_LICENSES
	cp -a $(WEIR_ROOT)/LICENSE $(WEIR_ROOT)/LICENSES $(@D)/
endef
WEIR_WEBUI_POST_RSYNC_HOOKS += WEIR_WEBUI_COPY_LICENSES

$(eval $(generic-package))
