plugins {
    alias(libs.plugins.android.library)
}

android {
    namespace = "org.retveclite.litert"
    compileSdk = libs.versions.compileSdk.get().toInt()

    defaultConfig {
        minSdk = libs.versions.minSdk.get().toInt()
        consumerProguardFiles("proguard.txt")
    }

    testOptions.unitTests.all { it.systemProperty("java.library.path", rootDir.resolve("../build/jvm").path) }

    sourceSets {
        named("test") {
            kotlin.directories += "../shared_test"
            resources.directories += "../../android_demo/app/src/test/resources"
        }
    }
}

dependencies {
    api(project(":retvec-lite"))
    implementation(libs.litert)

    testImplementation(libs.json) // android.jar has stubs only.
    testImplementation(libs.junit)
    testImplementation(libs.tensorflow.lite.desktop)
    testImplementation(libs.tensorflow.lite.metadata)
}
